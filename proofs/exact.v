(* SPDX-License-Identifier: Apache-2.0 *)
(* The exact checker: it accepts a plan if and only if the plan is safe.

   The model of include/hyperparallel/taskflow/exact_check.hpp. A greedy run that withholds task [a] begins and ends
   whatever it can, but never ends [a]. Task [b] follows [a] if and only if that run does not begin [b]; and a plan
   completes if and only if a greedy run that withholds nothing completes. No law of thresholds is needed. *)
From Coq Require Import List Arith Lia Bool.
From hyperparallel Require Import model.
Import ListNotations.

Fixpoint stands_before (a b : nat) (l : list nat) : bool :=
  match l with [] => false | h :: r => (h =? a) && mem b r || stands_before a b r end.

Section Exact.
Variable p : plan.
Notation task_at := (task_at p).

(** ** The greedy run, one begin or end a step *)
Definition can_begin (s : state) (t : nat) : bool :=
  mem t (concat (queues p)) && negb (mem t (begun s)) &&
  forallb (fun q => forallb (fun a => negb (stands_before a t q) || mem a (ended s)) q) (queues p) &&
  forallb (fun w => snd w <=? signalled p (fun a => mem a (ended s)) (fst w)) (waits (task_at t)).
Definition is_withheld (withheld : option nat) (t : nat) : bool :=
  match withheld with Some a => a =? t | None => false end.
Definition can_end (withheld : option nat) (s : state) (t : nat) : bool :=
  mem t (begun s) && negb (mem t (ended s)) && negb (is_withheld withheld t).
Definition advance (withheld : option nat) (s : state) : option state :=
  match find (can_begin s) (seq 0 (size p)) with
  | Some t => Some (State (t :: begun s) (ended s))
  | None => match find (can_end withheld s) (seq 0 (size p)) with
            | Some t => Some (State (begun s) (t :: ended s))
            | None => None
            end
  end.
Fixpoint go_on (withheld : option nat) (steps : nat) (s : state) : state :=
  match steps with
  | 0 => s
  | S n => match advance withheld s with Some s' => go_on withheld n s' | None => s end
  end.
Definition run_greedily withheld := go_on withheld (2 * size p) (State [] []).

Definition conflicting a b :=
  existsb (fun u => existsb (fun v => conflicts u v) (accesses (task_at b))) (accesses (task_at a)).
Definition check_placement :=
  distinct (concat (queues p)) &&
  forallb (fun q => forallb (fun t => (t <? size p) && is_in_pool p t q) (nth q (queues p) []))
    (seq 0 (length (queues p))).
Definition check_exactly : bool :=
  check_placement && forallb (fun t => mem t (ended (run_greedily None))) (seq 0 (size p)) &&
  forallb (fun b => forallb (fun a => negb (conflicting a b) || negb (mem b (begun (run_greedily (Some a))))) (seq 0 b))
    (seq 0 (size p)).

(** * Proof *)
Lemma stands_before_iff a b l : stands_before a b l = true <-> before a b l.
Proof.
  induction l as [|h l IH]; simpl.
  - split; [easy|]. intros ([] & y & z & E); discriminate.
  - rewrite before_cons, orb_true_iff, andb_true_iff, Nat.eqb_eq, mem_In, IH. easy.
Qed.

Lemma not_mem t l : negb (mem t l) = true <-> ~ In t l.
Proof. rewrite <- mem_In, negb_true_iff, not_true_iff_false. easy. Qed.

Lemma can_begin_iff t B E : t < size p ->
  (can_begin (State B E) t = true <-> step p (State B E) (State (t :: B) E)).
Proof.
  intros T. unfold can_begin. simpl. rewrite !andb_true_iff, mem_In, not_mem, !forallb_forall. split.
  - intros (((Q & N) & F) & W). constructor; auto.
    + intros q a Iq Ba. specialize (F q Iq). rewrite forallb_forall in F.
      assert (In a q) as Ia by (destruct Ba as (x & y & z & ->); apply in_elt).
      specialize (F a Ia). apply orb_true_iff in F as [F|F]; [|now apply mem_In].
      apply negb_true_iff, not_true_iff_false in F. exfalso. now apply F, stands_before_iff.
    + intros e k I. now apply Nat.leb_le, (W (e, k)).
  - intros St. inversion St; subst.
    2: { match goal with H : _ = _ |- _ => apply (f_equal (@length nat)) in H; simpl in H; lia end. }
    repeat split; auto.
    + intros q Iq. apply forallb_forall. intros a _. destruct (stands_before a t q) eqn:Bf; auto.
      simpl. apply mem_In. apply stands_before_iff in Bf. eauto.
    + intros [e k] I. apply Nat.leb_le. simpl. auto.
Qed.

Definition without (withheld : option nat) (s : state) : Prop := forall a, withheld = Some a -> ~ In a (ended s).
(** The end of a greedy run: every step that could follow would end the withheld task. *)
Definition at_end withheld s := reachable p s /\ without withheld s /\ forall s', step p s s' -> ~ without withheld s'.

Lemma advance_some withheld s s' : reachable p s -> without withheld s -> advance withheld s = Some s' ->
  step p s s' /\ without withheld s' /\ length (begun s') + length (ended s') = S (length (begun s) + length (ended s)).
Proof.
  intros R W. unfold advance. destruct s as [B E]. destruct (find (can_begin _) _) as [t|] eqn:F.
  - apply find_some in F as [T C]. apply in_seq in T. intros X. injection X as <-. simpl.
    split; [apply can_begin_iff; auto; lia|]. split; [exact W|lia].
  - destruct (find (can_end _ _) _) as [t|] eqn:G; [|easy]. intros X. injection X as <-.
    apply find_some in G as [_ C]. unfold can_end in C. simpl in *. rewrite !andb_true_iff, mem_In, not_mem in C.
    destruct C as ((I & N) & A). split; [now constructor|]. split; [|lia].
    intros a -> [->|J]; [|now apply (W a)]. simpl in A. now rewrite Nat.eqb_refl in A.
Qed.

Lemma advance_none withheld s :
  reachable p s -> advance withheld s = None -> forall s', step p s s' -> ~ without withheld s'.
Proof.
  intros R. unfold advance. destruct (find (can_begin s) _) eqn:F; [easy|].
  destruct (find (can_end withheld s) _) eqn:G; [easy|]. intros _ s' St W.
  destruct (bookkeeping p s R) as (_ & _ & _ & L). inversion St; subst; simpl in *.
  - apply find_none with (x := t) in F; [|apply in_seq; lia].
    apply not_true_iff_false in F. now apply F, can_begin_iff.
  - apply find_none with (x := t) in G; [|apply in_seq; specialize (L t ltac:(assumption)); lia].
    unfold can_end in G. simpl in G. apply not_true_iff_false in G. apply G.
    rewrite !andb_true_iff, mem_In, not_mem. repeat split; auto.
    destruct withheld as [a|]; simpl; auto. destruct (Nat.eqb_spec a t) as [->|]; auto.
    exfalso. apply (W t); simpl; auto.
Qed.

Lemma go_on_end withheld steps : forall s, reachable p s -> without withheld s ->
  2 * size p <= length (begun s) + length (ended s) + steps -> at_end withheld (go_on withheld steps s).
Proof.
  induction steps as [|n IH]; intros s R W L; simpl.
  - split; [easy|]. split; [easy|]. intros s' St _. assert (reachable p s') as R' by (eapply next; eauto).
    apply runs_end in R'. inversion St; subst; simpl in *; lia.
  - destruct (advance withheld s) as [s'|] eqn:A.
    + destruct (advance_some _ _ _ R W A) as (St & W' & Len). apply IH; auto; [eapply next; eauto|lia].
    + split; [easy|]. split; [easy|]. now apply advance_none.
Qed.

Lemma run_greedily_end withheld : at_end withheld (run_greedily withheld).
Proof. apply go_on_end; simpl; [constructor| |lia]. intros a _ []. Qed.

(** Whatever any run without the withheld task has begun or ended, a greedy run at its end has, too. *)
Lemma at_end_most withheld s s' : at_end withheld s -> reachable p s' -> without withheld s' ->
  incl (begun s') (begun s) /\ incl (ended s') (ended s).
Proof.
  intros (R & Ws & St) R'. induction R' as [|s1 s2 R1 IH Step]; intros W; [split; intros t []|].
  assert (without withheld s1) as W1 by (intros a A I; apply (W a A); inversion Step; subst; simpl in *; auto).
  destruct (IH W1) as [B E]. destruct s as [SB SE].
    inversion Step; subst; simpl in *; split; auto; intros x [<-|X]; auto.
  - destruct (in_dec Nat.eq_dec t SB) as [|N]; auto. exfalso. apply (St (State (t :: SB) SE)); auto.
    constructor; auto.
    + intros q a Q Ba. apply E. eauto.
    + intros e k I. match goal with H : forall e k, In _ _ -> _ <= _ |- _ => eapply Nat.le_trans;
      [exact (H e k I)|] end.
      apply signalled_le. intros a _ _ M. apply mem_In, E. now apply mem_In.
  - destruct (in_dec Nat.eq_dec t SE) as [|N]; auto. exfalso. apply (St (State SB (t :: SE))).
    + constructor; auto.
    + intros a A [->|I]; [now apply (W a A); left|now apply (Ws a A)].
Qed.

(** Task [b] follows [a] if and only if the greedy run that withholds [a] does not begin [b]. *)
Theorem follows_exact a b : follows p b a <-> ~ In b (begun (run_greedily (Some a))).
Proof.
  destruct (run_greedily_end (Some a)) as (R & W & St). split.
  - intros F I. apply (W a eq_refl). now apply (F _ R).
  - intros N s Rs Ib. destruct (in_dec Nat.eq_dec a (ended s)) as [|Na]; auto. exfalso. apply N.
    apply (at_end_most (Some a) (run_greedily (Some a)) s); auto.
    + now apply run_greedily_end.
    + intros x E. now injection E as <-.
Qed.

(** A plan completes if and only if one greedy run does. *)
Theorem completion_exact : completes p <-> complete p (run_greedily None).
Proof.
  destruct (run_greedily_end None) as (R & W & St). split.
  - intros C. destruct (C _ R) as [_ [|(s' & S')]]; auto. exfalso. now apply (St s').
  - intros C s Rs. split; [now apply runs_end|]. destruct (advance None s) as [s'|] eqn:A.
    + right. exists s'. now apply (advance_some None s s').
    + left. intros t T. assert (at_end None s) as End by (split; [|split]; [easy|easy|now apply advance_none]).
      destruct (at_end_most None s (run_greedily None) End R W) as [_ I]. apply I, C, T.
Qed.

Lemma conflicting_iff a b : conflicting a b = true <-> conflict p a b.
Proof.
  unfold conflicting, conflict. rewrite existsb_exists. split.
  - intros (u & U & H). apply existsb_exists in H as (v & V & H). exists u, v.
    unfold conflicts in H. apply andb_true_iff in H as [H ?]. now apply overlaps_iff in H.
  - intros (u & v & U & V & H & Wr). exists u. split; auto. apply existsb_exists. exists v. split; auto.
    unfold conflicts. rewrite Wr, andb_true_r. now apply overlaps_iff.
Qed.

Lemma check_placement_iff : check_placement = true <-> rightly_placed p.
Proof.
  assert (forall t q, is_in_pool p t q = true <-> nth_error (pools p) q = Some (pool (task_at t))) as Pool.
  { intros t q. unfold is_in_pool. destruct (nth_error (pools p) q) as [c|]; [|easy].
    rewrite Nat.eqb_eq. split; congruence. }
  unfold check_placement, rightly_placed. rewrite andb_true_iff, distinct_iff, forallb_forall.
    split; intros [D H]; split; auto.
  - intros q t T. destruct (le_lt_dec (length (queues p)) q) as [L|L]; [now rewrite nth_overflow in T|].
    specialize (H q). rewrite in_seq, forallb_forall in H. specialize (H ltac:(lia) t T).
    now rewrite andb_true_iff, Nat.ltb_lt, Pool in H.
  - intros q _. apply forallb_forall. intros t T. rewrite andb_true_iff, Nat.ltb_lt, Pool. now apply H.
Qed.

(** * The theorem: the exact checker neither accepts an unsafe plan nor refuses a safe one *)
Theorem check_exactly_exact : check_exactly = true <-> safe p.
Proof.
  unfold check_exactly, safe. rewrite no_race_iff, !andb_true_iff, check_placement_iff, !forallb_forall.
  split.
  - intros ((P & C) & F). split; [apply runs_once|]. split; [easy|]. split.
    + apply completion_exact. intros t T. apply mem_In, C, in_seq. lia.
    + intros a b AB Cf. apply follows_exact. specialize (F b). rewrite in_seq, forallb_forall in F.
      specialize (F ltac:(lia) a). rewrite in_seq in F. specialize (F ltac:(lia)).
      apply conflicting_iff in Cf. rewrite Cf in F. now apply not_mem in F.
  - intros (_ & P & C & F). split; [split; [easy|]|].
    + intros t T. apply in_seq in T. apply mem_In. apply completion_exact; auto. lia.
    + intros b Tb. apply forallb_forall. intros a Ta. apply in_seq in Tb, Ta.
      destruct (conflicting a b) eqn:Cf; auto. simpl. apply not_mem, follows_exact, F; [lia|].
      now apply conflicting_iff.
Qed.
End Exact.

Print Assumptions follows_exact.
Print Assumptions completion_exact.
Print Assumptions check_exactly_exact.
