(* SPDX-License-Identifier: Apache-2.0 *)
(* Messages between processes do not deadlock, if all processes take them in one total order.

   A message passes when both its processes have posted it (rendezvous). A process posts a message only while fewer than
   [window] older ones of its own are open. The order is total, the same on all processes, and extends what messages
   need of each other. The order of a plan that verify accepts is one, see plan_messages.v. The order of rows in
   include/hyperparallel/lowering/message_order.hpp is meant to be one: all processes share it, and [most_in_flight]
   is its window. No process fails. *)
From Coq Require Import List Arith Lia Bool Relations.
Import ListNotations.

Lemma minimum (f : nat -> nat) (l : list nat) : l <> [] -> exists x, In x l /\ forall y, In y l -> f x <= f y.
Proof.
  induction l as [|h l IH]; [easy|]. intros _. destruct l as [|i l].
  - exists h. split; [now left|]. intros y [<-|[]]. lia.
  - destruct IH as (x & I & M); [easy|]. destruct (le_lt_dec (f h) (f x)).
    + exists h. split; [now left|]. intros y [<-|Y]; [lia|]. specialize (M y Y). lia.
    + exists x. split; [now right|]. intros y [<-|Y]; [lia|auto].
Qed.

Section Messages.
(** Items 0 .. size - 1 are tasks and messages. A task needs items to be finished before it runs; a message needs
    items at each of its two ends, before the process there posts it. *)
Variable size : nat.
Variable message : nat -> bool.
Variables from to : nat -> nat.
Variable task_needs : nat -> list nat.
Variable side_needs : nat -> nat -> list nat.  (* of a process, for a message *)
(** The place of a message in the order that all processes share. *)
Variable rank : nat -> nat.
(** How many messages a process may have open at once: one, in the strictest case. *)
Variable window : nat.

Definition sides m := [from m; to m].
Definition needs x := if message x then side_needs (from x) x ++ side_needs (to x) x else task_needs x.

(** [posted] has the pairs of a process and a message that it has posted. *)
Record state := State { finished : list nat; posted : list (nat * nat) }.

Definition done s x := existsb (Nat.eqb x) (finished s).
(** The messages of process [q] that stand before [m] in the order and are not finished. *)
Definition older s q m : list nat :=
  filter (fun x => message x && ((from x =? q) || (to x =? q)) && (rank x <? rank m) && negb (done s x)) (seq 0 size).

Inductive step : state -> state -> Prop :=
| task_runs x F P :
    x < size -> message x = false -> ~ In x F -> incl (task_needs x) F -> step (State F P) (State (x :: F) P)
| side_posts q m F P :
    m < size -> message m = true -> In q (sides m) -> ~ In m F -> ~ In (q, m) P -> incl (side_needs q m) F ->
    length (older (State F P) q m) < window -> step (State F P) (State F ((q, m) :: P))
| message_passes m F P :
    m < size -> message m = true -> ~ In m F -> In (from m, m) P -> In (to m, m) P ->
    step (State F P) (State (m :: F) P).

Inductive reachable : state -> Prop :=
| start : reachable (State [] [])
| next s s' : reachable s -> step s s' -> reachable s'.

Definition needed (x y : nat) : Prop := In y (needs x).

Hypothesis needs_inside : forall x y, x < size -> needed x y -> y < size.
Hypothesis acyclic : exists depth, forall x y, x < size -> needed x y -> depth y < depth x.
Hypothesis order_extends_needs :
  forall m x, m < size -> message m = true -> message x = true -> clos_trans nat needed m x -> rank x < rank m.
Hypothesis some_window : 0 < window.

Lemma all_finished_or (F l : list nat) : incl l F \/ exists x, In x l /\ ~ In x F.
Proof.
  destruct (Forall_Exists_dec (fun x => In x F) (fun x => in_dec Nat.eq_dec x F) l) as [A|E].
  - left. rewrite Forall_forall in A. exact A.
  - right. apply Exists_exists in E as (x & I & N). eauto.
Qed.

(** An unfinished item that needs no unfinished message can go on, or something that it needs can. *)
Lemma goes_on F P x :
  x < size -> ~ In x F ->
  (forall y, clos_trans nat needed x y -> message y = true -> In y F) ->
  (message x = true -> forall q, In q (sides x) -> older (State F P) q x = []) ->
  exists s, step (State F P) s.
Proof.
  destruct acyclic as [depth Down]. remember (depth x) as d eqn:D.
  revert x D. induction d as [d IH] using lt_wf_ind. intros x -> X N Free Oldest.
  destruct (all_finished_or F (needs x)) as [A|(y & Y & Ny)].
  - destruct (message x) eqn:M.
    + assert (forall q, In q (sides x) -> incl (side_needs q x) F) as S.
      { intros q [<-|[<-|[]]] z Z; apply A; unfold needs; rewrite M; apply in_app_iff; auto. }
      destruct (all_finished_or (map fst (filter (fun z => snd z =? x) P)) (sides x)) as [B|(q & Q & Nq)].
      * exists (State (x :: F) P).
        assert (forall q, In q (sides x) -> In (q, x) P) as Both.
        { intros q Q. apply B, in_map_iff in Q as ([q' x'] & <- & Q). apply filter_In in Q as [Q E].
          apply Nat.eqb_eq in E. simpl in *. now subst. }
        apply message_passes; auto; apply Both; simpl; auto.
      * exists (State F ((q, x) :: P)). apply side_posts; auto.
        -- intros I. apply Nq, in_map_iff. exists (q, x). split; auto. apply filter_In. split; auto. apply Nat.eqb_refl.
        -- now rewrite Oldest.
    + exists (State (x :: F) P). apply task_runs; auto. unfold needs in A. now rewrite M in A.
  - apply (IH (depth y)) with (x := y); auto.
    + now apply needs_inside with (x := x).
    + intros z Z Mz. apply Free; auto. now apply t_trans with (y := y); [apply t_step|].
    + intros My. exfalso. apply Ny, Free; auto. now apply t_step.
Qed.

(** * The theorem: as long as an item is unfinished, something can go on *)
Theorem no_deadlock s : reachable s -> (forall x, x < size -> In x (finished s)) \/ exists s', step s s'.
Proof.
  intros _. destruct s as [F P]. simpl.
  set (open := filter (fun x => message x && negb (done (State F P) x)) (seq 0 size)).
  assert (forall x, In x open <-> x < size /\ message x = true /\ ~ In x F) as Open.
  { intros x. unfold open. rewrite filter_In, in_seq, andb_true_iff, negb_true_iff.
    unfold done. simpl. rewrite <- not_true_iff_false, existsb_exists.
    assert ((exists y, In y F /\ (x =? y) = true) <-> In x F) as ->; [|intuition lia].
    split; [intros (y & I & E); apply Nat.eqb_eq in E; now subst|].
    intros I. exists x. now rewrite Nat.eqb_refl. }
  destruct (list_eq_dec Nat.eq_dec open []) as [E|NE].
  - destruct (all_finished_or F (seq 0 size)) as [A|(x & X & N)].
    + left. intros x X. apply A, in_seq. lia.
    + right. apply in_seq in X. apply (goes_on F P x); auto; try lia.
      * intros y C M. destruct (in_dec Nat.eq_dec y F) as [|Ny]; auto. exfalso.
        enough (In y open) as I by (rewrite E in I; easy). apply Open. repeat split; auto.
        assert (x < size) as X' by lia. clear - C X' needs_inside. induction C; eauto.
      * intros M. exfalso. enough (In x open) as I by (rewrite E in I; easy). apply Open. repeat split; auto. lia.
  - right. destruct (minimum rank open NE) as (m & I & Min). apply Open in I as (M & Mm & N).
    apply (goes_on F P m); auto.
    + intros y C My. destruct (in_dec Nat.eq_dec y F) as [|Ny]; auto. exfalso.
      assert (rank y < rank m) by (apply order_extends_needs; auto).
      enough (In y open) as I by (specialize (Min y I); lia). apply Open. repeat split; auto.
      clear - C M needs_inside. induction C; eauto.
    + intros _ q Q. destruct (older (State F P) q m) as [|x l] eqn:L; [easy|exfalso].
      assert (In x (older (State F P) q m)) as I by (rewrite L; now left).
      apply filter_In in I as [Is I]. rewrite !andb_true_iff, Nat.ltb_lt in I. destruct I as (((Mx & _) & Lt) & D).
      enough (In x open) as I by (specialize (Min x I); lia).
      unfold open. apply filter_In. now rewrite Mx, D.
Qed.

(** Every run has an end. So every run that goes on as long as it can finishes all items. *)
Theorem runs_end s : reachable s -> length (finished s) + length (posted s) <= 3 * size.
Proof.
  intros R.
  assert (NoDup (finished s) /\ NoDup (posted s) /\ incl (finished s) (seq 0 size) /\
          incl (posted s) (flat_map (fun m => [(from m, m); (to m, m)]) (seq 0 size))) as (NF & NP & IF & IP).
  { induction R as [|s s' R (NF & NP & IF & IP) St]; simpl.
    - repeat split; try constructor; intros x [].
    - inversion St; subst; simpl in *; repeat split; auto using NoDup_cons.
      + intros y [<-|Y]; auto. apply in_seq. lia.
      + intros y [<-|Y]; auto. apply in_flat_map. exists m. split; [apply in_seq; lia|].
        destruct H1 as [<-|[<-|[]]]; simpl; auto.
      + intros y [<-|Y]; auto. apply in_seq. lia. }
  apply NoDup_incl_length in IF, IP; auto. rewrite seq_length in IF.
  assert (forall l, length (flat_map (fun m => [(from m, m); (to m, m)]) l) = 2 * length l) as L
    by (induction l; simpl in *; lia).
  rewrite L, seq_length in IP. lia.
Qed.
End Messages.

Print Assumptions no_deadlock.
Print Assumptions runs_end.
