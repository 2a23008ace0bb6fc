(* SPDX-License-Identifier: Apache-2.0 *)
(* Plans of tasks, how they run, and what it means that a plan is safe.

   The model of include/hyperparallel/taskflow/task.hpp and storage.hpp: tasks with waits, signals and accesses, and
   the frozen queues of a schedule. The definitions up to [safe] have to be believed: every theorem of this folder is
   a statement about them. What follows them is proved. *)
From Coq Require Import List Arith Lia Bool.
Import ListNotations.

(** * Definitions that have to be believed *)

(** ** Flow and plan *)

(** An access of a task: the units [first <= unit < past] of a slot. ([begin] and [end] in C++; [end] is a keyword of
    Coq.) A step is already applied: each tile of a run has accesses of its own. *)
Record access := Access { slot : nat; first : nat; past : nat; writes : bool }.

(** A wait [(e, k)] holds once event [e] has been signalled [k] times. A task signals each event of the list
    [signals] when it ends; an event that stands there twice is signalled twice. [pool] numbers the pairs of rank and
    resource class: the queues of a pool are those that may run the task. *)
Record task := Task { pool : nat; waits : list (nat * nat); signals : list nat; accesses : list access }.

(** A task is named by its place in [tasks], which is the reference order. A queue lists the tasks that it runs,
    first to last; [pools] has the pool of each queue. *)
Record plan := Plan { tasks : list task; queues : list (list nat); pools : list nat }.

(** Two accesses overlap if they share a unit of a slot. *)
Definition overlap (u v : access) : Prop :=
  slot u = slot v /\ exists unit, first u <= unit < past u /\ first v <= unit < past v.

(** [a] stands before [b] in the list [l]. *)
Definition before (a b : nat) (l : list nat) : Prop := exists x y z, l = x ++ a :: y ++ b :: z.

(** [t] stands in [l]: the computed form of [In]. *)
Definition mem (t : nat) (l : list nat) : bool := existsb (Nat.eqb t) l.
Arguments mem : simpl never.

Section Model.
Variable p : plan.

Definition size : nat := length (tasks p).
Definition task_at (t : nat) : task := nth t (tasks p) (Task 0 [] [] []).

(** How often task [t] signals event [e]. *)
Definition signals_of (e t : nat) : nat := count_occ Nat.eq_dec (signals (task_at t)) e.

(** The counter of event [e] when exactly the tasks of the set [who] have ended. *)
Definition signalled (who : nat -> bool) (e : nat) : nat :=
  list_sum (map (fun t => if who t then signals_of e t else 0) (seq 0 size)).

(** ** Runs *)

(** A state of a run is which tasks have begun and which have ended. *)
Record state := State { begun : list nat; ended : list nat }.

(** A run goes from state to state: a task begins, or a task that has begun ends. A task of a queue may begin if it
    has not begun yet, all tasks before it in its queue have ended, and its waits hold. There is no clock: any step
    that is possible may be the next one. *)
Inductive step : state -> state -> Prop :=
| begins t B E :
    t < size -> In t (concat (queues p)) -> ~ In t B ->
    (forall q a, In q (queues p) -> before a t q -> In a E) ->
    (forall e k, In (e, k) (waits (task_at t)) -> k <= signalled (fun a => mem a E) e) ->
    step (State B E) (State (t :: B) E)
| ends t B E : In t B -> ~ In t E -> step (State B E) (State B (t :: E)).

(** The states of all interleavings. *)
Inductive reachable : state -> Prop :=
| start : reachable (State [] [])
| next s s' : reachable s -> step s s' -> reachable s'.

(** ** Safety *)

(** No task begins or ends twice. *)
Definition exactly_once : Prop := forall s, reachable s -> NoDup (begun s) /\ NoDup (ended s).

(** No task stands twice in the queues, and each stands in a queue of its pool. *)
Definition rightly_placed : Prop :=
  NoDup (concat (queues p)) /\
  forall q t, In t (nth q (queues p) []) -> t < size /\ nth_error (pools p) q = Some (pool (task_at t)).

(** Every interleaving that goes on as long as it can has an end, and then all tasks have ended. *)
Definition complete (s : state) : Prop := forall t, t < size -> In t (ended s).
Definition completes : Prop :=
  forall s, reachable s ->
    length (begun s) + length (ended s) <= 2 * size /\ (complete s \/ exists s', step s s').

(** Task [b] follows task [a]: in no interleaving does [b] begin before [a] has ended. *)
Definition follows (b a : nat) : Prop := forall s, reachable s -> In b (begun s) -> In a (ended s).

(** Two tasks conflict if they have accesses that overlap and one of the two writes. *)
Definition conflict (a b : nat) : Prop :=
  exists u v, In u (accesses (task_at a)) /\ In v (accesses (task_at b)) /\ overlap u v /\ writes u || writes v = true.

(** A race: two tasks conflict, and in some interleaving the later in reference order has begun although the earlier
    has not ended. *)
Definition race (a b : nat) : Prop :=
  a < b < size /\ conflict a b /\ exists s, reachable s /\ In b (begun s) /\ ~ In a (ended s).

Definition safe : Prop := exactly_once /\ rightly_placed /\ completes /\ forall a b, ~ race a b.

(** * What is proved about them *)

Lemma no_race_iff : (forall a b, ~ race a b) <-> forall a b, a < b < size -> conflict a b -> follows b a.
Proof.
  split.
  - intros F a b L C s R I. destruct (in_dec Nat.eq_dec a (ended s)) as [|N]; auto.
    exfalso. apply (F a b). split; [easy|]. split; eauto.
  - intros F a b (L & C & s & R & I & N). now apply N, (F a b).
Qed.

(** ** Lists and accesses as functions that compute *)
Lemma mem_In t l : mem t l = true <-> In t l.
Proof.
  unfold mem. rewrite existsb_exists. split.
  - intros (x & H & E). apply Nat.eqb_eq in E. now subst.
  - intros H. exists t. now rewrite Nat.eqb_refl.
Qed.

Fixpoint distinct (l : list nat) : bool := match l with [] => true | x :: r => negb (mem x r) && distinct r end.
Lemma distinct_iff l : distinct l = true <-> NoDup l.
Proof.
  induction l as [|h l IH]; simpl; [split; auto; constructor|].
  rewrite andb_true_iff, negb_true_iff, IH, <- not_true_iff_false, mem_In, NoDup_cons_iff. easy.
Qed.

Lemma before_cons a b h l : before a b (h :: l) <-> (h = a /\ In b l) \/ before a b l.
Proof.
  split.
  - intros ([|x0 x] & y & z & E); injection E as -> E.
    + left. split; auto. subst. apply in_elt.
    + right. now exists x, y, z.
  - intros [[-> I]|(x & y & z & ->)].
    + apply in_split in I as (y & z & ->). now exists [], y, z.
    + now exists (h :: x), y, z.
Qed.

Lemma before_app a b (l m : list nat) : before a b (l ++ m) <-> before a b l \/ In a l /\ In b m \/ before a b m.
Proof.
  induction l as [|h l IH]; simpl.
  - intuition. destruct H0 as ([|] & y & z & E); discriminate.
  - rewrite !before_cons, IH, in_app_iff. intuition subst; auto.
Qed.

Lemma before_in a b (l : list nat) : before a b l -> In a l /\ In b l.
Proof. intros (x & y & z & ->). split; [apply in_elt|]. apply in_app_iff. right. right. apply in_elt. Qed.
Lemma split_in (x y : list nat) t a : before a t (x ++ t :: y) -> NoDup (x ++ t :: y) -> In a x.
Proof.
  intros B ND. apply before_app in B as [B|[[B _]|B]]; [|easy|].
  - apply before_in in B. easy.
  - exfalso. apply NoDup_remove_2 in ND. apply ND, in_app_iff. right.
    apply before_cons in B as [[-> I]|B]; auto. apply before_in in B. easy.
Qed.
Lemma in_split_before (x y : list nat) t a : In a x -> before a t (x ++ t :: y).
Proof. intros I. apply before_app. right. left. split; auto. now left. Qed.

Definition overlaps (u v : access) : bool :=
  (slot u =? slot v) && (max (first u) (first v) <? min (past u) (past v)).
Definition conflicts (u v : access) : bool := overlaps u v && (writes u || writes v).
Definition covers (u v : access) : bool := (first u <=? first v) && (past v <=? past u).
Definition nonempty (u : access) : bool := first u <? past u.

Lemma overlaps_iff u v : overlaps u v = true <-> overlap u v.
Proof.
  unfold overlaps, overlap. rewrite andb_true_iff, Nat.eqb_eq, Nat.ltb_lt. split; intros [S H]; split; auto.
  - exists (max (first u) (first v)). lia.
  - destruct H as (x & U & V). lia.
Qed.

Definition is_in_pool (t q : nat) : bool :=
  match nth_error (pools p) q with Some c => c =? pool (task_at t) | None => false end.

(** ** Counters *)
Lemma sum_le (f g : nat -> nat) l :
  (forall t, In t l -> f t <= g t) -> list_sum (map f l) <= list_sum (map g l).
Proof.
  induction l as [|x l IH]; simpl; intros H; [lia|].
  pose proof (H x (or_introl eq_refl)). specialize (IH (fun t Ht => H t (or_intror Ht))). lia.
Qed.

Lemma sum_lt (f g : nat -> nat) l a :
  (forall t, In t l -> f t <= g t) -> In a l -> f a < g a -> list_sum (map f l) < list_sum (map g l).
Proof.
  induction l as [|x l IH]; simpl; [easy|]; intros H [E|I] L; [subst|].
  - pose proof (sum_le f g l (fun t Ht => H t (or_intror Ht))). lia.
  - pose proof (H x (or_introl eq_refl)). specialize (IH (fun t Ht => H t (or_intror Ht)) I L). lia.
Qed.

(** Counters are monotone: a larger set of ended tasks has signalled as much or more. Tasks that do not signal the
    event do not count. *)
Lemma signalled_le (w w' : nat -> bool) e :
  (forall t, t < size -> 0 < signals_of e t -> w t = true -> w' t = true) -> signalled w e <= signalled w' e.
Proof.
  intros H. apply sum_le. intros t I. apply in_seq in I.
  destruct (w t) eqn:W; [|lia]. destruct (signals_of e t) eqn:S; [destruct (w' t); lia|].
  assert (w' t = true) as -> by (apply H; lia || easy). lia.
Qed.

Lemma signalled_lt (w w' : nat -> bool) e a :
  (forall t, t < size -> 0 < signals_of e t -> w t = true -> w' t = true) ->
  a < size -> 0 < signals_of e a -> w a = false -> w' a = true -> signalled w e < signalled w' e.
Proof.
  intros H A S W W'. apply sum_lt with (a := a).
  - intros t I. apply in_seq in I. destruct (w t) eqn:Wt; [|lia].
    destruct (signals_of e t) eqn:St; [destruct (w' t); lia|]. assert (w' t = true) as -> by (apply H; lia || easy).
      lia.
  - apply in_seq. lia.
  - rewrite W, W'. lia.
Qed.

(** ** What holds in every state of every run *)
Lemma bookkeeping s :
  reachable s ->
  NoDup (begun s) /\ NoDup (ended s) /\ incl (ended s) (begun s) /\ forall t, In t (begun s) -> t < size.
Proof.
  induction 1 as [|s s' R (NB & NE & I & L) St]; simpl.
  - repeat split; try constructor; intros t [].
  - inversion St; subst; simpl in *; repeat split; auto using NoDup_cons.
    + intros a Ha. right. auto.
    + intros a [<-|Ha]; auto.
    + intros a [<-|Ha]; auto.
Qed.

Lemma began_rightly s :
  reachable s -> forall b, In b (begun s) ->
  (forall q a, In q (queues p) -> before a b q -> In a (ended s)) /\
  (forall e k, In (e, k) (waits (task_at b)) -> k <= signalled (fun a => mem a (ended s)) e).
Proof.
  induction 1 as [|s s' R IH St]; simpl; [intros b []|].
  inversion St; subst; simpl in *; intros b Ib.
  - destruct Ib as [<-|Ib]; auto.
  - destruct (IH b Ib) as [Q W]. split; [intros; right; eauto|].
    intros e k I. eapply Nat.le_trans; [exact (W e k I)|].
    apply signalled_le. intros a _ _ M. apply mem_In in M. apply mem_In. now right.
Qed.

Theorem runs_once : exactly_once.
Proof. intros s R. now destruct (bookkeeping s R) as (? & ? & _). Qed.

Theorem runs_end s : reachable s -> length (begun s) + length (ended s) <= 2 * size.
Proof.
  intros R. destruct (bookkeeping s R) as (NB & NE & I & L).
  assert (length (begun s) <= size).
  { rewrite <- (seq_length size 0). apply NoDup_incl_length; auto. intros t Ht. apply in_seq. specialize (L t Ht).
    lia. }
  assert (length (ended s) <= length (begun s)) by now apply NoDup_incl_length.
  lia.
Qed.

(** ** Witnesses: why one task follows another *)
Lemma follows_trans c b a : follows c b -> follows b a -> follows c a.
Proof. intros CB BA s R C. apply (BA s R). destruct (bookkeeping s R) as (_ & _ & I & _). apply I. now apply CB. Qed.

Lemma follows_in_queue q a b : In q (queues p) -> before a b q -> follows b a.
Proof. intros Q B s R Ib. destruct (began_rightly s R b Ib) as [H _]. eauto. Qed.

(** The law of thresholds in its most general form. [b] waits until [e] has been signalled [k] times. The set [late]
    holds signallers of [e] that follow [a], or are [a]. If all other tasks together signal [e] fewer than [k] times,
    then [b] follows [a]. A wait for the total of an event and a wait for a prefix of the signals of one queue are
    two uses. *)
Theorem follows_by_threshold b a e k (late : nat -> bool) :
  In (e, k) (waits (task_at b)) ->
  (forall t, t < size -> 0 < signals_of e t -> late t = true -> t = a \/ follows t a) ->
  signalled (fun t => negb (late t)) e < k -> follows b a.
Proof.
  intros I L S s R Ib. destruct (in_dec Nat.eq_dec a (ended s)) as [|N]; [easy|exfalso].
  destruct (began_rightly s R b Ib) as [_ W]. specialize (W e k I).
  assert (signalled (fun t => mem t (ended s)) e <= signalled (fun t => negb (late t)) e); [|lia].
  apply signalled_le. intros t T St M. apply mem_In in M. destruct (late t) eqn:E; [exfalso|easy].
  destruct (L t T St E) as [->|F]; [easy|]. apply N, (F s R).
  destruct (bookkeeping s R) as (_ & _ & Inc & _). now apply Inc.
Qed.

(** ** Completion *)
Lemma first_not_ended (E l : list nat) :
  incl l E \/ exists x t y, l = x ++ t :: y /\ ~ In t E /\ incl x E.
Proof.
  induction l as [|h l IH]; [left; intros t []|].
  destruct (in_dec Nat.eq_dec h E) as [I|N].
  - destruct IH as [IH|(x & t & y & -> & N & X)].
    + left. intros t [<-|Ht]; auto.
    + right. exists (h :: x), t, y. repeat split; auto. intros a [<-|Ha]; auto.
  - right. exists [], h, l. repeat split; auto. intros a [].
Qed.

(** One complete sequential run proves that every interleaving completes: [order] holds all tasks, and each of them
    could begin when exactly those before it have ended. *)
Theorem completion (order : list nat) :
  (forall t, t < size <-> In t order) ->
  (forall t, In t order -> In t (concat (queues p))) ->
  (forall x t y, order = x ++ t :: y ->
     (forall q a, In q (queues p) -> before a t q -> In a x) /\
     (forall e k, In (e, k) (waits (task_at t)) -> k <= signalled (fun a => mem a x) e)) ->
  completes.
Proof.
  intros All Q Run s R. split; [now apply runs_end|].
  destruct (first_not_ended (ended s) order) as [C|(x & t & y & E & N & X)].
  - left. intros t Ht. apply C. now apply All.
  - right. assert (In t order) as It by (subst order; apply in_elt).
    destruct (Run x t y E) as [Qx Wx]. destruct s as [B En]; simpl in *.
    destruct (in_dec Nat.eq_dec t B) as [Ib|Nb].
    + exists (State B (t :: En)). now constructor.
    + exists (State (t :: B) En). constructor; auto.
      * now apply All.
      * intros q a Iq Bq. apply X. eauto.
      * intros e k I. eapply Nat.le_trans; [exact (Wx e k I)|].
        apply signalled_le. intros a _ _ M. apply mem_In. apply X. now apply mem_In.
Qed.
End Model.

Print Assumptions follows_by_threshold.
Print Assumptions completion.
