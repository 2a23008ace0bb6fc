(* SPDX-License-Identifier: Apache-2.0 *)
(* The local rule: what it accepts is safe.

   The model of verify.hpp, verify_order.hpp and verify_pairs.hpp in include/hyperparallel/taskflow: a function that
   computes, [verify], with the names of the headers, and the theorem [verify_sound]. The rule may refuse a safe
   plan.

   What the model leaves out: fast paths, tables that are filled when first needed, and the limits of int. It
   computes a verdict alone, without the code, task and slot of a refusal. Events, slots and intervals are those of
   each task, with [first_event], [first_slot] and [part * step] already added. *)
From Coq Require Import List Arith Lia Bool.
From hyperparallel Require Import model exact.
Import ListNotations.

Fixpoint index (t : nat) (l : list nat) : nat :=
  match l with [] => 0 | x :: r => if x =? t then 0 else S (index t r) end.

Section Verify.
Variable p : plan.
(** What a schedule has beside its queues: [order], a sequential run of all tasks, and the queue of each task. *)
Variables order queue : list nat.
(** The lengths of the runs of tiles: neighbours in reference order that are judged together. *)
Variable run_lengths : list nat.

Notation task_at := (task_at p).
Definition position t := index t order.
Definition queue_of t := nth t queue (length (queues p)).
Definition is_signaller e t := mem e (signals (task_at t)).
(** [count[e]] in C++, after its first half. *)
Definition total e := signalled p (fun _ => true) e.
Definition first_signaller e := find (is_signaller e) order.
(** All signallers of [e] sit in one queue; [signal_queue[e] >= 0] in C++. *)
Definition one_queue e :=
  match first_signaller e with
  | None => true
  | Some c => forallb (fun t => negb (is_signaller e t) || (queue_of t =? queue_of c)) order
  end.

(** * The rule *)

(** ** verify_order.hpp: [order] is one complete sequential run of the frozen queues *)

(** Each wait of the tasks [l] is satisfied where it stands, after the tasks [done]. *)
Fixpoint waits_satisfied (done l : list nat) : bool :=
  match l with
  | [] => true
  | t :: r =>
      forallb (fun w => (1 <=? snd w) && (snd w <=? signalled p (fun a => mem a done) (fst w))) (waits (task_at t)) &&
      waits_satisfied (t :: done) r
  end.
Definition verify_order : bool :=
  distinct order &&
  forallb (fun t => (t <? size p) && (queue_of t <? length (queues p)) && is_in_pool p t (queue_of t)) order &&
  forallb (fun t => mem t order) (seq 0 (size p)) &&
  (if list_eq_dec (list_eq_dec Nat.eq_dec) (queues p)
        (map (fun q => filter (fun t => queue_of t =? q) order) (seq 0 (length (queues p)))) then true else false) &&
  waits_satisfied [] order.
(** A threshold below the total only where one queue has all signallers. *)
Definition verify_partial_waits : bool :=
  forallb (fun t => forallb (fun w => (total (fst w) <=? snd w) || one_queue (fst w)) (waits (task_at t))) order.

(** ** verify_pairs.hpp: witnesses, and the way back through the history of a slot *)

(** The rank of the first signal of [a] among the signals of [e] in [order], from one. *)
Definition ordinal e a := S (signalled p (fun t => position t <? position a) e).
Fixpoint follows_task (depth t a : nat) : bool :=
  (queue_of a =? queue_of t) && (position a <? position t) ||
  existsb (fun w => is_signaller (fst w) a && ((total (fst w) <=? snd w) || (ordinal (fst w) a <=? snd w)))
    (waits (task_at t)) ||
  match depth with
  | 0 => false
  | S d => existsb (fun w => match first_signaller (fst w) with
                             | Some c => (c =? a) || follows_task d c a
                             | None => false
                             end) (waits (task_at t))
  end.
Definition witness_depth := 3.
#[local] Opaque witness_depth.

(** A use is a task and one of its accesses. A history lists the uses of one slot, newest first. *)
Definition use : Type := nat * access.
Fixpoint pairs_ordered (t : nat) (u : access) (history : list use) : bool :=
  match history with
  | [] => true
  | (a, v) :: h =>
      if (a =? t) || negb (conflicts v u) then pairs_ordered t u h
      else follows_task witness_depth t a && (writes v && covers v u || pairs_ordered t u h)
  end.
Fixpoint verify_pairs (history uses : list use) : bool :=
  match uses with
  | [] => true
  | (t, u) :: r => pairs_ordered t u history && verify_pairs ((t, u) :: history) r
  end.

(** ** verify.hpp: groups of writers and readers *)
Fixpoint follows_all (depth t e : nat) : bool :=
  existsb (fun w => (fst w =? e) && (total e <=? snd w)) (waits (task_at t)) ||
  match depth with
  | 0 => false
  | S d => existsb (fun w => match first_signaller (fst w) with
                             | Some c => follows_all d c e
                             | None => false
                             end) (waits (task_at t))
  end.

(** An event that all members of a group signal. In C++ a bit of [slot_state] says whether the group has members, and
    -1 that they share no event. *)
Inductive shared_event := Without_members | Shared (e : nat) | Not_shared.
Definition add_member (c : shared_event) (e : option nat) : shared_event :=
  match c, e with
  | Without_members, Some e => Shared e
  | Shared c, Some e => if c =? e then Shared c else Not_shared
  | _, _ => Not_shared
  end.
(** [t] follows all members of a group. It uses waits alone, never the order of a queue, see below. *)
Definition after (t : nat) (c : shared_event) : bool :=
  match c with Without_members => true | Shared e => follows_all witness_depth t e | Not_shared => false end.
Definition has_no_members (c : shared_event) : bool := match c with Without_members => true | _ => false end.

(** The state of a slot. *)
Record groups := Groups {
  writers : shared_event; readers : shared_event; before_writers : shared_event; before_readers : shared_event;
  covered : bool; high : nat }.
Definition no_groups := Groups Without_members Without_members Without_members Without_members false 0.
(** Writers join their group by their first signal, readers by their last. *)
Definition first_signal t := hd_error (signals (task_at t)).
Definition last_signal t := hd_error (rev (signals (task_at t))).

(** [None]: groups cannot express the access, and the slot goes over to pairs. The three cases are a read, a write
    above the present groups, and a write that begins new groups. *)
Definition place_access (g : groups) (t : nat) (u : access) : option groups :=
  if negb (writes u) then
    if after t (writers g)
    then Some (Groups (writers g) (add_member (readers g) (last_signal t)) (before_writers g) (before_readers g)
                 (covered g || negb (has_no_members (writers g))) (max (high g) (past u)))
    else None
  else if high g <=? first u then
    if after t (before_readers g) && after t (before_writers g)
    then Some (Groups (add_member (writers g) (first_signal t)) (readers g) (before_writers g) (before_readers g)
                 false (past u))
    else None
  else
    if after t (readers g) && (covered g || after t (writers g))
    then Some (Groups (add_member Without_members (first_signal t)) Without_members
                 (if covered g then Without_members else writers g) (readers g) false (past u))
    else None.

(** A read inside the write behind it, of the same slot and task, conflicts with nothing that the write does not. *)
Definition overwritten_beside (u v : access) : bool :=
  negb (writes u) && writes v && (slot u =? slot v) && covers v u.
Fixpoint kept (l : list access) : list access :=
  match l with
  | u :: r => match r with
              | v :: _ => if overwritten_beside u v then kept r else u :: kept r
              | [] => [u]
              end
  | [] => []
  end.
Definition uses_of s t := map (pair t) (filter (fun u => (slot u =? s) && nonempty u) (kept (accesses (task_at t)))).

(** ** Runs: one access of all tiles is judged once, by that of the first tile *)

(** Tiles are alike if they have the same waits and signals. *)
Definition is_alike t t' : bool :=
  (if list_eq_dec (fun x y : nat * nat => ltac:(decide equality; apply Nat.eq_dec))
        (waits (task_at t)) (waits (task_at t')) then true else false) &&
  (if list_eq_dec Nat.eq_dec (signals (task_at t)) (signals (task_at t')) then true else false).
Definition are_alike (run : list nat) : bool :=
  match run with [] => true | t :: r => forallb (fun t' => is_alike t' t) r end.

(** The hull of the intervals of [l] ends at [hull h l], if that of what was before them ends at [h]; they are apart
    if each begins at the end of the one before it or above. *)
Definition hull (h : nat) (l : list use) : nat := fold_left (fun h x => max h (past (snd x))) l h.
Fixpoint apart (h : nat) (l : list use) : bool :=
  match l with [] => true | (_, u) :: r => (h <=? first u) && apart (past u) r end.
Definition same_mode (w : bool) (l : list use) : bool := forallb (fun x => eqb (writes (snd x)) w) l.
Definition raise_high (g : groups) (h : nat) :=
  Groups (writers g) (readers g) (before_writers g) (before_readers g) (covered g) h.

(** [uses]: one access of all tiles of a run. *)
Definition place_run_access (g : groups) (uses : list use) : option groups :=
  match uses with
  | [] => Some g
  | (t, u) :: rest =>
      match place_access g t u with
      | Some g' => if same_mode (writes u) rest && (negb (writes u) || apart (past u) rest)
                   then Some (raise_high g' (hull (high g') rest)) else None
      | None => None
      end
  end.
Fixpoint place_run (g : groups) (by_access : list (list use)) : option groups :=
  match by_access with
  | [] => Some g
  | uses :: r => match place_run_access g uses with Some g' => place_run g' r | None => None end
  end.
Definition use_of s k t : list use :=
  match nth_error (kept (accesses (task_at t))) k with
  | Some u => if (slot u =? s) && nonempty u then [(t, u)] else []
  | None => []
  end.
(** The uses of slot [s] by the tiles of a run, by their first access, their second, and so on. *)
Definition run_accesses s (run : list nat) : list (list use) :=
  map (fun k => flat_map (use_of s k) run) (seq 0 (list_max (map (fun t => length (kept (accesses (task_at t)))) run))).

(** The uses of slot [s], run by run. [g] is [None] when the slot has gone over to pairs. *)
Fixpoint slot_ordered s (g : option groups) (history : list use) (runs : list (list nat)) : bool :=
  match runs with
  | [] => true
  | run :: rest =>
      let uses := flat_map (uses_of s) run in
      let g' := match g with Some g => place_run g (run_accesses s run) | None => None end in
      match g' with Some _ => true | None => verify_pairs history uses end &&
      slot_ordered s g' (rev uses ++ history) rest
  end.

Fixpoint cut_into_runs (t : nat) (lengths : list nat) : list (list nat) :=
  match lengths with [] => [] | n :: r => seq t n :: cut_into_runs (t + n) r end.
(** A run whose tiles are not alike is judged as runs of one tile. *)
Definition judged_runs :=
  flat_map (fun run => if are_alike run then [run] else map (fun t => [t]) run) (cut_into_runs 0 run_lengths).
Definition runs_partition : bool := list_sum run_lengths =? size p.
Definition slots := nodup Nat.eq_dec (map slot (flat_map accesses (tasks p))).
Definition verify_conflicts : bool := forallb (fun s => slot_ordered s (Some no_groups) [] judged_runs) slots.

(** ** Both halves *)
Definition verify : bool := verify_order && verify_partial_waits && runs_partition && verify_conflicts.

(** * Soundness

    First what the two halves establish for all plans that they accept: a sequential run, and waits that imply ends.
    Then the histories of slots, by pairs, by groups, and by groups for whole runs of tiles. *)

(** ** Lists *)
Lemma before_filter f a b l : before a b (filter f l) <-> before a b l /\ f a = true /\ f b = true.
Proof.
  induction l as [|h l IH]; simpl.
  - split; [intros ([] & y & z & E)|intros (([] & y & z & E) & _)]; discriminate.
  - destruct (f h) eqn:F; rewrite !before_cons, IH.
    + rewrite filter_In. intuition (subst; auto).
    + intuition (subst; congruence).
Qed.

Lemma index_before a b l : In b l -> index a l < index b l -> before a b l.
Proof.
  induction l as [|h l IH]; simpl; [easy|]. rewrite before_cons.
  destruct (h =? a) eqn:A, (h =? b) eqn:B; try lia; intros [->|I] L;
    rewrite ?Nat.eqb_refl in *; try discriminate; apply Nat.eqb_neq in B || lia; auto.
  - left. apply Nat.eqb_eq in A. auto.
  - right. apply IH; auto. lia.
Qed.

Lemma index_inj a b l : In a l -> In b l -> index a l = index b l -> a = b.
Proof.
  induction l as [|h l IH]; simpl; [easy|].
  destruct (Nat.eqb_spec h a), (Nat.eqb_spec h b); try lia; try congruence.
  intros [|] [|] E; try congruence. apply IH; auto.
Qed.

Lemma find_first f l c x : find f l = Some c -> In x l -> f x = true -> index c l <= index x l.
Proof.
  induction l as [|h l IH]; simpl; [easy|]. destruct (f h) eqn:F.
  - intros E. injection E as ->. rewrite Nat.eqb_refl. lia.
  - intros E [->|I] X; [congruence|]. specialize (IH E I X).
    destruct (Nat.eqb_spec h c), (Nat.eqb_spec h x); try lia. subst. congruence.
Qed.

Lemma unique_split (t : nat) y z x m : x ++ t :: y = m ++ t :: z -> NoDup (x ++ t :: y) -> x = m.
Proof.
  revert m. induction x as [|h x IH]; intros [|i m]; simpl; auto; intros E ND;
    injection E as E1 E2; inversion_clear ND as [|? ? N D]; subst.
  - exfalso. apply N, in_elt.
  - exfalso. apply N, in_elt.
  - f_equal. now apply IH.
Qed.

(** ** What the first half establishes *)
Lemma signaller e t : is_signaller e t = true <-> 0 < signals_of p e t.
Proof. unfold is_signaller, signals_of. rewrite mem_In, (count_occ_In Nat.eq_dec). lia. Qed.

Lemma waits_inside w t : In w (waits (task_at t)) -> t < size p.
Proof.
  intros I. destruct (le_lt_dec (size p) t); auto. unfold model.task_at in I. rewrite nth_overflow in I; [easy|auto].
Qed.

Section Accepted.
Hypothesis O : verify_order = true.
Hypothesis P : verify_partial_waits = true.

Lemma order_facts :
  NoDup order /\ (forall t, In t order <-> t < size p) /\ (forall t, In t order -> queue_of t < length (queues p)) /\
  queues p = map (fun q => filter (fun t => queue_of t =? q) order) (seq 0 (length (queues p))) /\
  waits_satisfied [] order = true.
Proof.
  unfold verify_order in O. rewrite !andb_true_iff, !forallb_forall in O.
  destruct O as ((((D & I) & A) & Q) & R).
  split; [now apply distinct_iff|]. split; [|split; [|split]]; auto.
  - intros t. split; intros H.
    + apply I in H. rewrite !andb_true_iff, Nat.ltb_lt in H. easy.
    + apply mem_In, A, in_seq. lia.
  - intros t H. apply I in H. rewrite !andb_true_iff, !Nat.ltb_lt in H. easy.
  - destruct (list_eq_dec _ _ _); [easy|discriminate].
Qed.

Lemma same_queue a b :
  a < size p -> b < size p -> queue_of a = queue_of b -> position a < position b -> follows p b a.
Proof.
  destruct order_facts as (_ & All & In_range & Q & _). intros A B E L. apply All in A, B.
  apply (follows_in_queue p (filter (fun t => queue_of t =? queue_of b) order)).
  - rewrite Q. apply in_map_iff. exists (queue_of b). split; auto. apply in_seq. specialize (In_range b B). lia.
  - apply before_filter. rewrite E, Nat.eqb_refl. split; auto. now apply index_before.
Qed.

Lemma satisfied_waits done l x t y :
  waits_satisfied done l = true -> l = x ++ t :: y -> forall e k, In (e, k) (waits (task_at t)) ->
  1 <= k <= signalled p (fun a => mem a (x ++ done)) e.
Proof.
  intros R E. revert done l R E. induction x as [|h x IH]; intros done l R -> e k I; cbn [app waits_satisfied] in R;
    apply andb_true_iff in R as [W R].
  - rewrite forallb_forall in W. specialize (W _ I). cbn [fst snd] in W.
    rewrite andb_true_iff, !Nat.leb_le in W. exact W.
  - destruct (IH _ _ R eq_refl e k I) as [K S]. split; auto. eapply Nat.le_trans; [exact S|].
    apply signalled_le. intros a _ _ M. apply mem_In. apply mem_In in M. simpl. rewrite in_app_iff in *. simpl in M.
      tauto.
Qed.

Lemma wait_facts e k t : In (e, k) (waits (task_at t)) -> 1 <= k /\ (total e <= k \/ one_queue e = true).
Proof.
  intros I. pose proof (waits_inside _ _ I) as T. destruct order_facts as (_ & All & _ & _ & R).
  apply All in T. split.
  - apply in_split in T as (x & y & E). now destruct (satisfied_waits _ _ _ _ _ R E e k I).
  - unfold verify_partial_waits in P. rewrite forallb_forall in P. specialize (P _ T).
    rewrite forallb_forall in P. specialize (P _ I). now rewrite orb_true_iff, Nat.leb_le in P.
Qed.

(** ** Places *)
(** The tasks of [order], dealt to their queues, stand in one queue each. *)
Lemma NoDup_dealt l n : forall s, NoDup l ->
  NoDup (concat (map (fun q => filter (fun t => queue_of t =? q) l) (seq s n))).
Proof.
  induction n as [|n IH]; intros s N; simpl; [constructor|].
  pose proof (NoDup_filter (fun t => queue_of t =? s) N) as F.
  assert (forall x, In x (filter (fun t => queue_of t =? s) l) -> queue_of x = s) as H
    by (intros x I; apply filter_In in I as [_ I]; now apply Nat.eqb_eq).
  induction (filter (fun t => queue_of t =? s) l) as [|h r IHr]; simpl; [now apply IH|].
  inversion_clear F. constructor; [|apply IHr; auto; intros; apply H; now right].
  rewrite in_app_iff. intros [I|I]; [easy|]. apply in_concat in I as (c & C & I).
  apply in_map_iff in C as (i & <- & C). apply in_seq in C. apply filter_In in I as [_ I].
  apply Nat.eqb_eq in I. specialize (H h (or_introl eq_refl)). lia.
Qed.

Lemma accepted_placed : rightly_placed p.
Proof.
  split; [destruct order_facts as (ND & _ & _ & -> & _); now apply NoDup_dealt|].
  intros q t T. destruct order_facts as (_ & All & _ & Q & _). destruct (le_lt_dec (length (queues p)) q) as [L|L].
  - rewrite nth_overflow in T; easy.
  - rewrite Q, nth_indep with (d' := filter (fun x => queue_of x =? 0) order)
    in T by now rewrite map_length, seq_length.
    rewrite map_nth with (f := fun i => filter (fun x => queue_of x =? i) order), seq_nth in T by easy.
    apply filter_In in T as [T E]. apply Nat.eqb_eq in E. simpl in E. subst. split; [now apply All|].
    unfold verify_order in O. rewrite !andb_true_iff, !forallb_forall in O. destruct O as ((((_ & I) & _) & _) & _).
    specialize (I t T). rewrite !andb_true_iff in I. destruct I as [_ I]. unfold is_in_pool in I.
    destruct (nth_error _ _); [|easy]. apply Nat.eqb_eq in I. congruence.
Qed.

(** ** Completion *)
Lemma accepted_completes : completes p.
Proof.
  destruct order_facts as (ND & All & In_range & Q & R). apply (completion p order).
  - intros t. symmetry. apply All.
  - intros t T. rewrite Q. apply in_concat. exists (filter (fun x => queue_of x =? queue_of t) order). split.
    + apply in_map_iff. exists (queue_of t). split; auto. apply in_seq. specialize (In_range t T). lia.
    + apply filter_In. now rewrite Nat.eqb_refl.
  - intros x t y E. split.
    + intros q a Iq B. rewrite Q in Iq. apply in_map_iff in Iq as (i & <- & _).
      apply before_filter in B as ((x' & y' & z' & E') & _).
      rewrite E in E', ND. replace (x' ++ a :: y' ++ t :: z') with ((x' ++ a :: y') ++ t :: z') in E'
        by now rewrite <- app_assoc.
      rewrite (unique_split _ _ _ _ _ E' ND). apply in_elt.
    + intros e k I. destruct (satisfied_waits _ _ _ _ _ R E e k I) as [_ S]. now rewrite app_nil_r in S.
Qed.

(** ** Thresholds: two uses of [follows_by_threshold], and what the witnesses of both halves make of them

    A wait for the total of an event implies all its signallers; a wait for less implies those first in order, if one
    queue has all of them. So each wait implies the first signaller of its event, and what that follows. *)
Lemma follows_by_total t a e k :
  In (e, k) (waits (task_at t)) -> total e <= k -> a < size p -> is_signaller e a = true -> follows p t a.
Proof.
  intros I K A S. apply signaller in S. apply (follows_by_threshold p t a e k (fun x => x =? a)); auto.
  - intros x _ _ E. left. now apply Nat.eqb_eq.
  - eapply Nat.lt_le_trans; [|exact K]. apply signalled_lt with (a := a); auto. now rewrite Nat.eqb_refl.
Qed.

Lemma follows_by_prefix t a e k :
  In (e, k) (waits (task_at t)) -> one_queue e = true -> a < size p -> is_signaller e a = true ->
  ordinal e a <= k -> follows p t a.
Proof.
  destruct order_facts as (_ & All & _ & _ & _). intros I Q A S K.
  apply (follows_by_threshold p t a e k (fun x => position a <=? position x)); auto.
  - intros x X Sx L. apply Nat.leb_le in L. apply signaller in Sx.
    destruct (Nat.eq_dec x a) as [|N]; auto. right. apply same_queue; auto.
    + unfold one_queue in Q. destruct (first_signaller e) as [c|] eqn:F.
      * rewrite forallb_forall in Q. pose proof (Q a (proj2 (All a) A)) as Qa. pose proof (Q x (proj2 (All x) X)) as Qx.
        rewrite S in Qa. rewrite Sx in Qx. simpl in *. apply Nat.eqb_eq in Qa, Qx. congruence.
      * unfold first_signaller in F. apply find_none with (x := a) in F; [congruence|now apply All].
    + destruct (Nat.eq_dec (position a) (position x)) as [E|]; [|lia].
      exfalso. apply N. symmetry. eapply index_inj; [now apply All|now apply All|exact E].
  - unfold ordinal in K. eapply Nat.le_lt_trans; [|exact K].
    apply signalled_le. intros x _ _ L. apply negb_true_iff, Nat.leb_gt in L. now apply Nat.ltb_lt.
Qed.

Lemma follows_first t e k c :
  In (e, k) (waits (task_at t)) -> first_signaller e = Some c -> c < size p /\ follows p t c.
Proof.
  destruct order_facts as (_ & All & _ & _ & _). intros I F. unfold first_signaller in F.
  destruct (find_some _ _ F) as [C S]. apply All in C. split; auto.
  destruct (wait_facts _ _ _ I) as [K [T|Q]]; [eapply follows_by_total; eauto|].
  eapply follows_by_prefix; eauto. unfold ordinal.
  enough (signalled p (fun x => position x <? position c) e <= signalled p (fun _ => false) e) as L.
  { assert (signalled p (fun _ => false) e = 0) as Z; [|lia].
    unfold signalled. clear. induction (seq 0 (size p)); auto. }
  apply signalled_le. intros x X Sx L. apply Nat.ltb_lt in L. apply signaller in Sx. apply All in X.
  pose proof (find_first _ _ _ _ F X Sx). unfold position in L. lia.
Qed.

Lemma follows_by_wait t a e k :
  In (e, k) (waits (task_at t)) -> a < size p -> is_signaller e a = true -> total e <= k \/ ordinal e a <= k ->
  follows p t a.
Proof.
  intros I A S H. destruct (wait_facts _ _ _ I) as [_ [T|Q]]; [now apply (follows_by_total t a e k)|].
  destruct H; [now apply (follows_by_total t a e k)|now apply (follows_by_prefix t a e k)].
Qed.

Lemma follows_task_sound d : forall t a, t < size p -> a < size p -> follows_task d t a = true -> follows p t a.
Proof.
  assert (forall t a, t < size p -> a < size p -> (queue_of a =? queue_of t) && (position a <? position t) = true ->
          follows p t a) as Same.
  { intros t a T A H. apply andb_true_iff in H as [Q L]. apply Nat.eqb_eq in Q. apply Nat.ltb_lt in L.
    now apply same_queue. }
  assert (forall t a, a < size p ->
          existsb (fun w => is_signaller (fst w) a && ((total (fst w) <=? snd w) || (ordinal (fst w) a <=? snd w)))
            (waits (task_at t)) = true -> follows p t a) as Wait.
  { intros t a A H. apply existsb_exists in H as ([e k] & I & H). cbn [fst snd] in H.
    rewrite andb_true_iff, orb_true_iff, !Nat.leb_le in H. now apply (follows_by_wait t a e k). }
  induction d as [|d IH]; intros t a T A F; cbn [follows_task] in F; rewrite !orb_true_iff in F;
    destruct F as [[F|F]|F]; auto; try discriminate.
  apply existsb_exists in F as ([e k] & I & F). cbn [fst snd] in F.
  destruct (first_signaller e) as [c|] eqn:E; [|discriminate].
  destruct (follows_first _ _ _ _ I E) as [C Fc]. apply orb_true_iff in F as [F|F].
  - apply Nat.eqb_eq in F. now subst.
  - apply (follows_trans p t c a); auto.
Qed.

Lemma follows_all_sound d :
  forall t e a, follows_all d t e = true -> a < size p -> is_signaller e a = true -> follows p t a.
Proof.
  induction d as [|d IH]; intros t e a F A S; cbn [follows_all] in F; rewrite !orb_true_iff in F;
    destruct F as [F|F]; try discriminate; apply existsb_exists in F as ([f k] & I & F); simpl in F;
    try (apply andb_true_iff in F as [E K]; apply Nat.eqb_eq in E; apply Nat.leb_le in K; subst;
         eapply follows_by_total; eauto; fail).
  destruct (first_signaller f) as [c|] eqn:E; [|discriminate].
  destruct (follows_first _ _ _ _ I E) as [C Fc]. apply (follows_trans p t c a); eauto.
Qed.

(** ** Pairs

    In an ordered history each use follows the earlier ones that it conflicts with. The way back ends at a writer
    that covers the range: what overlaps the range before it conflicts with that writer, which therefore follows it. *)
Fixpoint ordered (l : list use) : Prop :=
  match l with
  | [] => True
  | (t, u) :: h => (forall a v, In (a, v) h -> a <> t -> conflicts v u = true -> follows p t a) /\ ordered h
  end.

Definition inside (l : list use) : Prop := forall a v, In (a, v) l -> a < size p.

Lemma covered_conflict u v w : covers w u = true -> writes w = true -> conflicts v u = true -> slot w = slot u ->
  conflicts v w = true.
Proof.
  unfold conflicts, covers. rewrite !andb_true_iff, !overlaps_iff, !Nat.leb_le. unfold overlap.
  intros [A B] W ((S & x & X) & _) E. rewrite W, orb_true_r. split; [|easy]. split; [congruence|].
  exists x. lia.
Qed.

Lemma pairs_sound t u h :
  t < size p -> inside h -> ordered h -> pairs_ordered t u h = true ->
  forall a v, In (a, v) h -> a <> t -> conflicts v u = true -> follows p t a.
Proof.
  intros T. induction h as [|[c w] h IH]; simpl; [easy|]. intros Ins [Oc Oh] H.
  assert (inside h) as Ih by (intros a v I; apply (Ins a v); now right).
  destruct ((c =? t) || negb (conflicts w u)) eqn:Skip.
  - intros a v [E|I] N C; [|now apply (IH Ih Oh H a v)]. injection E as -> ->.
    rewrite C in Skip. apply Nat.eqb_neq in N. rewrite N in Skip. discriminate.
  - apply orb_false_iff in Skip as [Nc Cw]. apply negb_false_iff in Cw.
    apply andb_true_iff in H as [F H]. apply follows_task_sound in F; [|auto|apply (Ins c w); now left].
    intros a v [E|I] N C; [now injection E as -> ->|].
    apply orb_true_iff in H as [H|H]; [|now apply (IH Ih Oh H a v)].
    apply andb_true_iff in H as [W Cov].
    destruct (Nat.eq_dec a c) as [->|Nac]; auto.
    apply (follows_trans p t c a); auto. apply (Oc a v); auto.
    apply (covered_conflict u v w); auto.
    unfold conflicts, overlaps in Cw. rewrite !andb_true_iff, Nat.eqb_eq in Cw. easy.
Qed.

(** ** Groups

    [waits_behind t a]: [t] and every task with the same waits follow [a]. Groups establish this, which is more than
    that [t] follows [a], because they use waits alone and never the order of a queue. The tiles of a run have the
    same waits, so what is established for one tile holds for all. *)
Definition waits_behind (t a : nat) : Prop := forall t', waits (task_at t') = waits (task_at t) -> follows p t' a.
Lemma waits_behind_trans c b a : waits_behind c b -> waits_behind b a -> waits_behind c a.
Proof. intros CB BA t' E. eapply (follows_trans p t' b a); [now apply CB|now apply BA]. Qed.
Lemma follows_all_alike d t t' e : waits (task_at t') = waits (task_at t) -> follows_all d t' e = follows_all d t e.
Proof. intros E. destruct d; simpl; now rewrite E. Qed.

(** All members of a group signal its event. *)
Definition agree (c : shared_event) (l : list use) : Prop :=
  match c with
  | Without_members => l = []
  | Shared e => forall a v, In (a, v) l -> is_signaller e a = true
  | Not_shared => True
  end.

(** The invariant of groups. The history of a slot falls into three parts: the present writers [W], the present
    readers [R] and everything older, [Old]. Every present writer follows everything older; and whatever passes both
    groups before follows everything older, too. So a new access has to be held against the groups alone:
      - a read passes the present writers, and thereby everything older;
      - a write above the present groups conflicts with none of their members; it passes both groups before, and
        thereby everything older, and becomes a present writer;
      - any other write passes the readers and the writers, and thereby everything older; it begins a new group, and
        all that was there becomes older. A reader that follows all writers stands for them. *)
Record invariant (g : groups) (history W R Old : list use) : Prop := {
  all_placed : forall x, In x history -> In x W \/ In x R \/ In x Old;
  none_added : inside W /\ inside R;
  writers_agree : agree (writers g) W;
  readers_agree : agree (readers g) R;
  under_high : forall x, In x W \/ In x R -> past (snd x) <= high g;
  writers_follow_old : forall w x, In w W -> In x Old -> waits_behind (fst w) (fst x);
  old_needs_writers : W = [] -> Old = [];
  readers_only_read : forall x, In x R -> writes (snd x) = false;
  covering_reader : covered g = true -> exists r, In r R /\ forall w, In w W -> waits_behind (fst r) (fst w);
  after_befores : forall t, after t (before_readers g) = true -> after t (before_writers g) = true ->
                    forall x, In x Old -> waits_behind t (fst x) }.

Lemma after_sound t c l : after t c = true -> agree c l -> inside l -> forall x, In x l -> waits_behind t (fst x).
Proof.
  intros F A I [a v] H. destruct c; simpl in *; [now subst|..|discriminate].
  intros t' E. apply (follows_all_sound witness_depth t' e a); [now rewrite (follows_all_alike _ t)|eauto|eauto].
Qed.

Lemma agree_add_member c l t u e :
  agree c l -> (forall x, e = Some x -> is_signaller x t = true) -> agree (add_member c e) ((t, u) :: l).
Proof.
  intros A S. destruct c as [|c|], e as [e|]; simpl in *; auto.
  - intros a v [E|I]; [injection E as <- <-; auto|now subst].
  - destruct (Nat.eqb_spec c e); simpl; auto. subst.
    intros a v [E|I]; [injection E as <- <-; auto|eauto].
Qed.

Lemma first_signal_signals t x : first_signal t = Some x -> is_signaller x t = true.
Proof.
  unfold first_signal, is_signaller. rewrite mem_In. destruct (signals (task_at t)); simpl; [easy|].
  intros E. injection E as ->. now left.
Qed.
Lemma last_signal_signals t x : last_signal t = Some x -> is_signaller x t = true.
Proof.
  unfold last_signal, is_signaller. rewrite mem_In, in_rev. destruct (rev (signals (task_at t))); simpl; [easy|].
  intros E. injection E as ->. now left.
Qed.

(** An access that groups take follows every use that it conflicts with, and keeps the invariant. *)
Lemma place_sound g h W R Old t u g' :
  t < size p -> nonempty u = true -> invariant g h W R Old -> place_access g t u = Some g' ->
  (forall a v, In (a, v) h -> conflicts v u = true -> waits_behind t a) /\
  exists W' R' Old', invariant g' ((t, u) :: h) W' R' Old'.
Proof.
  intros T Ne G. destruct G as [Pl [IW IR] AW AR Hi J OW RO Cov Be]. unfold place_access.
  destruct (writes u) eqn:Wu; simpl.
  2: { (* a read *)
    destruct (after t (writers g)) eqn:F; [|easy]. intros E. injection E as <-.
    pose proof (after_sound _ _ _ F AW IW) as FW.
    assert (forall x, In x Old -> waits_behind t (fst x)) as FO.
    { intros x X. destruct W as [|w W]; [rewrite OW in X; easy|].
      apply (waits_behind_trans t (fst w)); [apply FW|apply J]; simpl; auto. }
    split.
    - intros a v I C. destruct (Pl _ I) as [X|[X|X]]; [apply (FW _ X)| |apply (FO _ X)].
      apply RO in X. simpl in X. unfold conflicts in C. rewrite X, Wu, andb_false_r in C. discriminate.
    - exists W, ((t, u) :: R), Old. constructor; simpl; auto.
      + intros x [<-|X]; auto. destruct (Pl x X) as [|[|]]; auto.
      + split; auto. intros a v [E|I]; [now injection E as <- <-|eauto].
      + apply agree_add_member; auto. apply last_signal_signals.
      + intros x [X|[<-|X]]; simpl; [specialize (Hi x (or_introl X))| |specialize (Hi x (or_intror X))]; lia.
      + intros x [<-|X]; auto.
      + intros _. exists (t, u). auto. }
  destruct (high g <=? first u) eqn:Above.
  - (* a write above the present groups *)
    destruct (after t (before_readers g) && after t (before_writers g)) eqn:F; [|easy].
    intros E. injection E as <-. apply andb_true_iff in F as [Fr Fw]. apply Nat.leb_le in Above.
    pose proof (Be t Fr Fw) as FO. unfold nonempty in Ne. apply Nat.ltb_lt in Ne.
    split.
    + intros a v I C. assert (In (a, v) W \/ In (a, v) R -> False) as No.
      { intros X. specialize (Hi _ X). simpl in Hi. unfold conflicts in C. apply andb_true_iff in C as [C _].
        apply overlaps_iff in C as (_ & x & V & U). lia. }
      destruct (Pl _ I) as [X|[X|X]]; [exfalso; auto..|apply (FO _ X)].
    + exists ((t, u) :: W), R, Old. constructor; simpl; auto; try easy.
      * intros x [<-|X]; auto. destruct (Pl x X) as [|[|]]; auto.
      * split; auto. intros a v [E|I]; [now injection E as <- <-|eauto].
      * apply agree_add_member; auto. apply first_signal_signals.
      * intros x [[<-|X]|X]; simpl; [lia|specialize (Hi x (or_introl X))|specialize (Hi x (or_intror X))]; lia.
      * intros w x [<-|X] Y; simpl; auto.
  - (* a write that begins new groups *)
    destruct (after t (readers g) && (covered g || after t (writers g))) eqn:F; [|easy].
    intros E. injection E as <-. apply andb_true_iff in F as [Fr Fw].
    assert (forall s, after s (readers g) = true -> covered g = true \/ after s (writers g) = true ->
            forall x, In x (W ++ R ++ Old) -> waits_behind s (fst x)) as All.
    { intros s Sr Sw. pose proof (after_sound _ _ _ Sr AR IR) as FR.
      assert (forall w, In w W -> waits_behind s (fst w)) as FW.
      { intros w Iw. destruct Sw as [C|Sw]; [|now apply (after_sound _ _ _ Sw AW IW)].
        destruct (Cov C) as (r & Ir & Hr). apply (waits_behind_trans s (fst r)); auto. }
      intros x X. rewrite !in_app_iff in X. destruct X as [X|[X|X]]; auto.
      destruct W as [|w W]; [rewrite OW in X; easy|].
      apply (waits_behind_trans s (fst w)); [apply FW|apply J]; simpl; auto. }
    apply orb_true_iff in Fw.
    assert (forall x, In x h -> In x (W ++ R ++ Old)) as Sub.
    { intros x X. rewrite !in_app_iff. destruct (Pl x X) as [|[|]]; auto. }
    split.
    + intros a v I _. apply (All t Fr Fw (a, v)). now apply Sub.
    + exists [(t, u)], [], (W ++ R ++ Old). constructor; simpl; auto; try easy.
      * intros x [<-|X]; auto.
      * split; [|easy]. intros a v [E|[]]. now injection E as <- <-.
      * apply (agree_add_member Without_members); simpl; auto. apply first_signal_signals.
      * intros x [[<-|[]]|[]]. simpl. lia.
      * intros w x [<-|[]] X. simpl. auto.
      * intros s Sr Sw. apply All; auto. destruct (covered g); auto.
Qed.

(** ** Runs: to judge an access of the first tile is to judge it for all tiles, one after the other

    Groups judge access by access, the reference order goes tile by tile. The difference does not matter: if two
    tiles of a run conflicted, one of them would wait behind the other, and so, as their waits are the same, behind
    itself. No task follows itself, since the plan completes. This is the place where the proof needs that groups use
    no queue order. *)
Fixpoint place_all (g : groups) (l : list use) : option groups :=
  match l with
  | [] => Some g
  | (t, u) :: r => match place_access g t u with Some g' => place_all g' r | None => None end
  end.

Lemma place_all_app l m g :
  place_all g (l ++ m) = match place_all g l with Some g' => place_all g' m | None => None end.
Proof. revert g. induction l as [|[t u] l IH]; simpl; auto. intros g. destruct (place_access g t u); auto. Qed.

(** A task like [t] may join the present group once more, and changes no group by that. *)
Definition ready (g : groups) (t : nat) (w : bool) : Prop :=
  if w then after t (before_readers g) = true /\ after t (before_writers g) = true /\ covered g = false /\
            add_member (writers g) (first_signal t) = writers g
  else after t (writers g) = true /\ add_member (readers g) (last_signal t) = readers g /\
       covered g || negb (has_no_members (writers g)) = covered g.
Definition alike (t t' : nat) : Prop :=
  waits (task_at t) = waits (task_at t') /\ signals (task_at t) = signals (task_at t').

Lemma add_member_twice c e : add_member (add_member c e) e = add_member c e.
Proof.
  destruct c as [|c|], e as [e|]; simpl; rewrite ?Nat.eqb_refl; auto. destruct (c =? e) eqn:E; simpl; now rewrite ?E.
Qed.

Lemma place_ready g t u g' :
  place_access g t u = Some g' -> ready g' t (writes u) /\ (writes u = true -> high g' = past u).
Proof.
  unfold place_access, ready. destruct (writes u); simpl.
  - destruct (high g <=? first u).
    + destruct (after t (before_readers g)) eqn:R, (after t (before_writers g)) eqn:W; simpl; try easy.
      intros E. injection E as <-. simpl. rewrite add_member_twice. auto.
    + destruct (after t (readers g)) eqn:R; simpl; [|easy].
      destruct (covered g) eqn:C, (after t (writers g)) eqn:W; simpl; try easy;
        intros E; injection E as <-; cbn [writers readers before_writers before_readers covered high];
        change (match first_signal t with Some e => Shared e | None => Not_shared end)
          with (add_member Without_members (first_signal t));
        rewrite add_member_twice; auto.
  - destruct (after t (writers g)) eqn:W; [|easy]. intros E. injection E as <-. simpl. rewrite add_member_twice, W.
    split; [|easy]. repeat split; auto. now rewrite <- orb_assoc, orb_diag.
Qed.

Lemma after_alike t t' c : alike t' t -> after t' c = after t c.
Proof. intros [W _]. destruct c; simpl; auto. now apply follows_all_alike. Qed.

Lemma place_again g t t' u :
  ready g t (writes u) -> alike t' t -> (writes u = true -> high g <= first u <= past u) ->
  place_access g t' u = Some (raise_high g (max (high g) (past u))).
Proof.
  intros Re A H. unfold place_access, ready, raise_high, first_signal, last_signal in *.
    rewrite !(after_alike t t') by auto.
  destruct A as [_ ->]. destruct (writes u); simpl.
  - destruct (H eq_refl) as [H1 H2]. rewrite (proj2 (Nat.leb_le _ _) H1). destruct Re as (-> & -> & -> & ->). simpl.
    rewrite max_r by lia. reflexivity.
  - destruct Re as (-> & -> & ->). reflexivity.
Qed.

Lemma place_rest t w rest : forall g,
  ready g t w -> same_mode w rest = true -> (w = true -> apart (high g) rest = true) ->
  (forall x, In x rest -> alike (fst x) t /\ nonempty (snd x) = true) ->
  place_all g rest = Some (raise_high g (hull (high g) rest)).
Proof.
  induction rest as [|[t' u] rest IH]; intros g Re M A H; simpl in *; [now destruct g|].
  apply andb_true_iff in M as [M Ms]. apply eqb_prop in M. subst w.
  destruct (H (t', u) (or_introl eq_refl)) as [Al Ne]. unfold nonempty in Ne. apply Nat.ltb_lt in Ne. simpl in Al, Ne.
  rewrite (place_again g t t' u); auto.
  - rewrite (IH (raise_high g (max (high g) (past u)))); auto.
    simpl. intros W. specialize (A W). rewrite andb_true_iff, Nat.leb_le in A. rewrite max_r by lia. easy.
  - intros W. specialize (A W). rewrite andb_true_iff, Nat.leb_le in A. lia.
Qed.

Lemma place_run_access_all g uses g' :
  (forall x y, In x uses -> In y uses -> alike (fst x) (fst y)) ->
  (forall x, In x uses -> nonempty (snd x) = true) ->
  place_run_access g uses = Some g' -> place_all g uses = Some g'.
Proof.
  intros Al Ne. destruct uses as [|[t u] rest]; simpl; auto.
  destruct (place_access g t u) as [g1|] eqn:P1; [|easy].
  destruct (same_mode (writes u) rest && (negb (writes u) || apart (past u) rest)) eqn:C; [|easy].
  intros E. injection E as <-. apply andb_true_iff in C as [M A].
  destruct (place_ready _ _ _ _ P1) as [Re Hi]. apply (place_rest t (writes u)); auto.
  - intros W. rewrite W in A. simpl in A. now rewrite (Hi W).
  - intros x X. split; [apply (Al x (t, u)); simpl; auto|apply Ne; now right].
Qed.

Lemma place_run_all by_access : forall g g',
  (forall x y, In x (concat by_access) -> In y (concat by_access) -> alike (fst x) (fst y)) ->
  (forall x, In x (concat by_access) -> nonempty (snd x) = true) ->
  place_run g by_access = Some g' -> place_all g (concat by_access) = Some g'.
Proof.
  induction by_access as [|c by_access IH]; simpl; auto. intros g g' Al Ne.
  destruct (place_run_access g c) as [g1|] eqn:C; [|easy]. intros E. rewrite place_all_app.
  rewrite (place_run_access_all g c g1); auto.
  - apply IH; auto; intros; [apply Al|apply Ne]; apply in_app_iff; auto.
  - intros; apply Al; apply in_app_iff; auto.
  - intros; apply Ne; apply in_app_iff; auto.
Qed.

Lemma place_all_sound l : forall g h W R Old g',
  (forall x, In x l -> fst x < size p /\ nonempty (snd x) = true) -> invariant g h W R Old -> place_all g l = Some g' ->
  (exists W' R' Old', invariant g' (rev l ++ h) W' R' Old') /\
  (forall t u a v, In (t, u) l -> In (a, v) h -> conflicts v u = true -> waits_behind t a) /\
  ForallOrdPairs (fun x y => conflicts (snd x) (snd y) = true -> waits_behind (fst y) (fst x)) l.
Proof.
  induction l as [|[t u] l IH]; simpl; intros g h W R Old g' Ins G Pl.
  - injection Pl as <-. split; [eauto|]. split; [easy|constructor].
  - destruct (place_access g t u) as [g1|] eqn:P1; [|easy].
    destruct (Ins (t, u) (or_introl eq_refl)) as [T Ne].
    destruct (place_sound g h W R Old t u g1 T Ne G P1) as (C & W1 & R1 & Old1 & G1).
    destruct (IH g1 ((t, u) :: h) W1 R1 Old1 g' (fun x X => Ins x (or_intror X)) G1 Pl) as (G' & Ch & Cl).
    split; [now rewrite <- app_assoc|]. split.
    + intros t' u' a v [E|I] Ih Cf; [injection E as <- <-; eauto|]. apply (Ch t' u' a v); simpl; auto.
    + constructor; auto. apply Forall_forall. intros [t' u'] I Cf. apply (Ch t' u' t u); simpl; auto.
Qed.

Lemma conflicts_sym u v : conflicts u v = conflicts v u.
Proof. unfold conflicts, overlaps. now rewrite Nat.eqb_sym, Nat.max_comm, Nat.min_comm, orb_comm. Qed.

Lemma never_after_itself t : t < size p -> ~ follows p t t.
Proof.
  intros T F. assert (forall s, reachable p s -> ~ In t (begun s)) as Never.
  { induction 1 as [|s s' R IH St]; [easy|]. intros I.
    assert (In t (ended s')) as J by (apply F; [eapply next; eauto|easy]).
    destruct (bookkeeping p s R) as (_ & _ & Inc & _). inversion St; subst; simpl in *; auto. }
  destruct (run_greedily_end p None) as (R & _ & _). apply (Never _ R).
  destruct (bookkeeping p _ R) as (_ & _ & Inc & _). apply Inc.
  now apply (proj1 (completion_exact p) accepted_completes).
Qed.

Lemma is_alike_iff t t' : is_alike t t' = true <-> alike t t'.
Proof.
  unfold is_alike, alike. rewrite andb_true_iff.
  repeat (match goal with |- context [if ?d then _ else _] => destruct d end); intuition congruence.
Qed.

Lemma alike_in_run run t t' : are_alike run = true -> In t run -> In t' run -> alike t t'.
Proof.
  destruct run as [|r run]; [easy|]. simpl. rewrite forallb_forall. intros H.
  assert (forall x, r = x \/ In x run -> alike x r) as A.
  { intros x [<-|X]; [now split|]. now apply is_alike_iff, H. }
  intros I I'. destruct (A t I) as [W S], (A t' I') as [W' S']. split; congruence.
Qed.

Lemma uses_in_run_accesses s run x : In x (flat_map (uses_of s) run) -> In x (concat (run_accesses s run)).
Proof.
  intros I. apply in_flat_map in I as (t & T & I). apply in_map_iff in I as (u & <- & I).
  apply filter_In in I as [I C]. destruct (In_nth_error _ _ I) as (k & K).
  apply in_concat. exists (flat_map (use_of s k) run). split.
  - apply in_map_iff. exists k. split; auto. apply in_seq. split; [lia|].
    assert (k < length (kept (accesses (task_at t)))) as L by (apply nth_error_Some; congruence).
    eapply Nat.lt_le_trans; [exact L|]. simpl.
    assert (Forall (fun n => n <= list_max (map (fun t => length (kept (accesses (task_at t)))) run))
              (map (fun t => length (kept (accesses (task_at t)))) run)) as F by now apply list_max_le.
    rewrite Forall_forall in F. apply F. apply in_map_iff. eauto.
  - apply in_flat_map. exists t. split; auto. unfold use_of. rewrite K, C. now left.
Qed.

Lemma run_accesses_in_run s run x : In x (concat (run_accesses s run)) -> In (fst x) run /\ nonempty (snd x) = true.
Proof.
  intros I. apply in_concat in I as (c & C & I). apply in_map_iff in C as (k & <- & _).
  apply in_flat_map in I as (t & T & I). unfold use_of in I. destruct (nth_error _ _) as [u|]; [|easy].
  destruct ((slot u =? s) && nonempty u) eqn:E; [|easy]. destruct I as [<-|[]]. apply andb_true_iff in E. easy.
Qed.

Lemma ordered_grow uses : forall h, ordered h ->
  (forall t u a v, In (t, u) uses -> In (a, v) h -> a <> t -> conflicts v u = true -> follows p t a) ->
  (forall t u a v, In (t, u) uses -> In (a, v) uses -> a <> t -> conflicts v u = true -> follows p t a) ->
  ordered (rev uses ++ h).
Proof.
  induction uses as [|[t u] uses IH]; simpl; auto. intros h Oh H1 H2. rewrite <- app_assoc. apply IH; simpl.
  - split; auto. intros a v I N C. eapply H1; eauto.
  - intros t' u' a v I [E|J] N C; [injection E as <- <-; eapply H2; eauto|eapply H1; eauto].
  - intros t' u' a v I J N C. eapply H2; eauto.
Qed.

Lemma verify_pairs_sound uses : forall h,
  (forall x, In x uses -> fst x < size p) -> inside h -> ordered h -> verify_pairs h uses = true ->
  ordered (rev uses ++ h).
Proof.
  induction uses as [|[t u] uses IH]; simpl; auto. intros h In_u Ih Oh H.
  apply andb_true_iff in H as [H1 H2]. rewrite <- app_assoc. simpl.
  pose proof (In_u (t, u) (or_introl eq_refl)) as T. simpl in T. apply IH; auto.
  - intros a v [E|I]; [now injection E as <- <-|now apply (Ih a v)].
  - split; auto. now apply pairs_sound.
Qed.

Lemma invariant_less g h h' W R Old : incl h' h -> invariant g h W R Old -> invariant g h' W R Old.
Proof. intros I []. constructor; auto. Qed.

(** All uses of a slot by a run, judged access by access, leave an ordered history tile by tile. *)
Lemma run_invariant s g h run W R Old g' :
  (forall t, In t run -> t < size p) -> are_alike run = true -> ordered h -> invariant g h W R Old ->
  place_run g (run_accesses s run) = Some g' ->
  ordered (rev (flat_map (uses_of s) run) ++ h) /\
  exists W' R' Old', invariant g' (rev (flat_map (uses_of s) run) ++ h) W' R' Old'.
Proof.
  intros Ir Al Oh G Pl. set (l := concat (run_accesses s run)).
  assert (forall x, In x l -> In (fst x) run /\ nonempty (snd x) = true) as InR by apply run_accesses_in_run.
  assert (forall x y, In x l -> In y l -> alike (fst x) (fst y)) as AlR.
  { intros x y X Y. apply (alike_in_run run); auto; now apply InR. }
  assert (place_all g l = Some g') as Pa by (apply place_run_all; auto; apply InR).
  destruct (place_all_sound l g h W R Old g') as ((W' & R' & Old' & G') & Ch & Cl); auto.
  { intros x X. destruct (InR x X). auto. }
  assert (forall x y, In x l -> In y l -> fst x <> fst y -> conflicts (snd x) (snd y) = true -> False) as Never.
  { intros x y X Y N C. destruct (InR x X) as [Rx _], (InR y Y) as [Ry _].
    destruct (ForallOrdPairs_In Cl x y X Y) as [->|[H|H]]; [easy|..].
    - apply (never_after_itself (fst x)); auto. apply (H C). now apply AlR.
    - apply (never_after_itself (fst y)); auto. rewrite conflicts_sym in C. apply (H C). now apply AlR. }
  pose proof (uses_in_run_accesses s run) as Sub. split.
  - apply ordered_grow; auto.
    + intros t u a v I J N C. apply (Ch t u a v); auto; now apply Sub.
    + intros t u a v I J N C. exfalso. apply (Never (a, v) (t, u)); auto; now apply Sub.
  - exists W', R', Old'. apply invariant_less with (h := rev l ++ h); auto.
    intros x X. rewrite in_app_iff, <- in_rev in *. destruct X as [X|X]; [left; now apply Sub|now right].
Qed.

(** The history of a slot that passes is ordered, in groups or by pairs. *)
Lemma slot_sound s runs : forall g h,
  (forall run, In run runs -> (forall t, In t run -> t < size p) /\ are_alike run = true) -> inside h -> ordered h ->
  match g with Some g => exists W R Old, invariant g h W R Old | None => True end ->
  slot_ordered s g h runs = true -> ordered (rev (flat_map (uses_of s) (concat runs)) ++ h).
Proof.
  induction runs as [|run runs IH]; intros g h Ru Ih Oh G H; simpl in *; auto.
  apply andb_true_iff in H as [H Rest]. destruct (Ru run (or_introl eq_refl)) as [Ir Al].
  rewrite flat_map_app, rev_app_distr, <- app_assoc.
  assert (forall x, In x (flat_map (uses_of s) run) -> fst x < size p) as Iu.
  { intros x X. apply Ir. now destruct (run_accesses_in_run s run x (uses_in_run_accesses s run x X)). }
  assert (inside (rev (flat_map (uses_of s) run) ++ h)) as Ih'.
  { intros a v I. apply in_app_iff in I as [I|I]; [|now apply (Ih a v)]. apply in_rev in I. now apply Iu in I. }
  assert (verify_pairs h (flat_map (uses_of s) run) = true ->
          ordered (rev (flat_map (uses_of s) run) ++ h)) as Pairs by (intros; now apply verify_pairs_sound).
  destruct g as [g|]; [|apply (IH None); auto].
  destruct (place_run g (run_accesses s run)) as [g'|] eqn:Pl; [|apply (IH None); auto].
  destruct G as (W & R & Old & G).
  destruct (run_invariant s g h run W R Old g' Ir Al Oh G Pl) as [Ord G']. apply (IH (Some g')); auto.
Qed.

Lemma concat_cut_into_runs lengths : forall t, concat (cut_into_runs t lengths) = seq t (list_sum lengths).
Proof. induction lengths as [|n r IH]; simpl; auto. intros t. now rewrite IH, <- seq_app. Qed.

Lemma concat_judged_runs : concat judged_runs = seq 0 (list_sum run_lengths).
Proof.
  unfold judged_runs. rewrite <- concat_cut_into_runs.
    induction (cut_into_runs 0 run_lengths) as [|run l IH]; simpl; auto.
  rewrite concat_app, IH. f_equal. destruct (are_alike run); simpl; [apply app_nil_r|].
  induction run as [|t run IHr]; simpl; congruence.
Qed.

Lemma judged_runs_alike run : In run judged_runs -> are_alike run = true.
Proof.
  unfold judged_runs. rewrite in_flat_map. intros (r & _ & I). destruct (are_alike r) eqn:A.
  - destruct I as [<-|[]]. easy.
  - apply in_map_iff in I as (t & <- & _). reflexivity.
Qed.

Lemma ordered_app l : forall m a v b u, ordered (l ++ m) -> In (b, u) l -> In (a, v) m -> a <> b ->
  conflicts v u = true -> follows p b a.
Proof.
  induction l as [|[c w] l IH]; simpl; [easy|]. intros m a v b u [H Om] [E|I] M N C.
  - injection E as -> ->. apply (H a v); auto. apply in_app_iff. now right.
  - eapply IH; eauto.
Qed.

(** An access that is left out lies inside one that is judged and is as strong. *)
Lemma kept_covers l u :
  In u l -> exists v, In v (kept l) /\ slot v = slot u /\ covers v u = true /\ (writes u = true -> writes v = true).
Proof.
  assert (forall x, covers x x = true) as Refl by (intros; unfold covers; now rewrite !Nat.leb_refl).
  revert u. induction l as [|h [|i r] IH]; intros u I; [easy|exists u; simpl in *; auto|].
  cbn [kept]. destruct (overwritten_beside h i) eqn:B.
  - destruct I as [<-|I]; [|now apply IH].
    unfold overwritten_beside in B. rewrite !andb_true_iff, negb_true_iff, Nat.eqb_eq in B.
    destruct B as (((Wh & Wi) & S) & C). destruct (IH i (or_introl eq_refl)) as (v & Iv & Sv & Cv & Wv).
    exists v. split; [easy|]. split; [congruence|]. split; [|congruence].
    unfold covers in *. rewrite !andb_true_iff, !Nat.leb_le in *. lia.
  - destruct I as [<-|I]; [exists h; split; [now left|auto]|].
    destruct (IH u I) as (v & Iv & H). exists v. split; [now right|easy].
Qed.

Lemma accepted_ordered :
  runs_partition = true -> verify_conflicts = true ->
  forall a b, a < b < size p -> conflict p a b -> follows p b a.
Proof.
  intros Ru V a b AB (u0 & v0 & Iu0 & Iv0 & Ov0 & Wr0). unfold verify_conflicts in V. rewrite forallb_forall in V.
  assert (In (slot u0) slots) as Is.
  { apply nodup_In, in_map, in_flat_map. exists (task_at a). split; auto. apply nth_In. unfold size in AB. lia. }
  destruct (kept_covers _ _ Iu0) as (u & Iu & Su & Cu & Wu). destruct (kept_covers _ _ Iv0) as (v & Iv & Sv & Cv & Wv).
  assert (overlap u v) as Ov.
  { unfold covers in *. rewrite !andb_true_iff, !Nat.leb_le in *. destruct Ov0 as (S & x & Hx).
    split; [congruence|]. exists x. lia. }
  assert (writes u || writes v = true) as Wr.
  { apply orb_true_iff in Wr0 as [H|H]; [rewrite (Wu H)|rewrite (Wv H), orb_true_r]; auto. }
  rewrite <- Su in Is. clear u0 v0 Iu0 Iv0 Ov0 Wr0 Su Cu Wu Sv Cv Wv.
  assert (nonempty u = true /\ nonempty v = true) as [Nu Nv].
  { destruct Ov as (_ & x & ? & ?). unfold nonempty. rewrite !Nat.ltb_lt. lia. }
  assert (slot u = slot v) as Suv by apply Ov.
  specialize (V _ Is). unfold runs_partition in Ru. apply Nat.eqb_eq in Ru.
  apply slot_sound in V; [|..|exists [], [], []; constructor; simpl; auto; try easy; now intros x [[]|[]]]; try easy.
  2: { intros run Ir. split; [|now apply judged_runs_alike]. intros t T.
       assert (In t (concat judged_runs)) as I by (apply in_concat; eauto).
       rewrite concat_judged_runs, Ru in I. apply in_seq in I. lia. }
  rewrite app_nil_r, concat_judged_runs, Ru in V.
  replace (size p) with (b + (size p - b)) in V by lia. rewrite seq_app, flat_map_app, rev_app_distr in V.
  apply (ordered_app _ _ a u b v V).
  - apply in_rev. rewrite rev_involutive. apply in_flat_map. exists b. split; [apply in_seq; lia|].
    apply in_map. apply filter_In. rewrite Suv, Nat.eqb_refl. auto.
  - apply in_rev. rewrite rev_involutive. apply in_flat_map. exists a. split; [apply in_seq; lia|].
    apply in_map. apply filter_In. rewrite Nat.eqb_refl. auto.
  - lia.
  - unfold conflicts. rewrite andb_true_iff, overlaps_iff. auto.
Qed.
End Accepted.

(** * The theorem: the rule accepts no unsafe plan *)
Theorem verify_sound : verify = true -> safe p.
Proof.
  unfold verify. rewrite !andb_true_iff. intros [[[O P] R] V].
  unfold safe. rewrite no_race_iff. split; [apply runs_once|]. split; [|split].
  - now apply accepted_placed.
  - now apply accepted_completes.
  - now apply accepted_ordered.
Qed.
End Verify.

Print Assumptions verify_sound.

(** * An accepted and a refused plan

    Task 0 writes slot 0 on the matrix cores (pool 0), task 1 reads it on the vector cores (pool 1). With a wait for
    the event that task 0 signals the plan is accepted. Without it the plan is refused, and indeed it is not safe. *)
Definition write_then_read (waits_of_reader : list (nat * nat)) : plan :=
  Plan [Task 0 [] [0] [Access 0 0 64 true]; Task 1 waits_of_reader [] [Access 0 0 64 false]] [[0]; [1]] [0; 1].
Definition proof (waits_of_reader : list (nat * nat)) : bool :=
  verify (write_then_read waits_of_reader) [0; 1] [0; 1] [1; 1].

Compute proof [(0, 1)].
Compute proof [].
Example accepted : proof [(0, 1)] = true.
Proof. reflexivity. Qed.
Example accepted_is_safe : safe (write_then_read [(0, 1)]).
Proof. apply (verify_sound _ _ _ _ accepted). Qed.
Example refused : proof [] = false.
Proof. reflexivity. Qed.
Example refused_is_not_safe : ~ safe (write_then_read []).
Proof. rewrite <- check_exactly_exact. discriminate. Qed.
