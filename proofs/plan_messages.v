(* SPDX-License-Identifier: Apache-2.0 *)
(* A plan that verify accepts, run by processes that send messages, does not deadlock.

   Any tasks of a plan may be messages: each has two ends, and passes when the processes there have posted it. All
   processes take their messages in the order of the plan. What a task needs is what the plan's queues and waits say.
   This file joins verify.v to messages.v: the order of an accepted plan extends the needs, so [no_deadlock] speaks of
   it; and what processes do by messages is a run of the plan, so what holds for all runs holds for them. *)
From Coq Require Import List Arith Lia Bool Relations.
From hyperparallel Require Import model exact verify.
From hyperparallel Require messages.
Import ListNotations.

Section Plan_messages.
Variable p : plan.
Variables order queue : list nat.
Notation task_at := (task_at p).
Notation position := (position order).
Notation queue_of := (queue_of p queue).
Notation ordinal := (ordinal p order).

(** * What a task needs *)

(** The tasks before it in its queue. *)
Definition needed_by_queue t :=
  filter (fun a => (queue_of a =? queue_of t) && (position a <? position t)) (seq 0 (size p)).
(** The signallers without which a wait does not hold: all, if it is for the total; else the first ones in order. *)
Definition needed_by_wait (w : nat * nat) :=
  filter (fun a => is_signaller p (fst w) a && ((total p (fst w) <=? snd w) || (ordinal (fst w) a <=? snd w)))
    (seq 0 (size p)).
Definition needs t := needed_by_queue t ++ flat_map needed_by_wait (waits (task_at t)).

Section Accepted.
Hypothesis O : verify_order p order queue = true.
Hypothesis P : verify_partial_waits p order queue = true.

Lemma in_order t : t < size p -> exists x y, order = x ++ t :: y /\ ~ In t x.
Proof.
  destruct (order_facts p order queue O) as (ND & All & _). intros T. apply All in T.
  apply in_split in T as (x & y & E). exists x, y. split; auto. rewrite E in ND. apply NoDup_remove_2 in ND.
  intros I. apply ND, in_app_iff. auto.
Qed.

Lemma position_in x t y : order = x ++ t :: y -> ~ In t x -> position t = length x.
Proof.
  intros E. unfold verify.position. rewrite E. clear E. induction x as [|h x IH]; intros N; cbn [app index].
  - now rewrite Nat.eqb_refl.
  - destruct (Nat.eqb_spec h t) as [->|]; [exfalso; apply N; now left|]. simpl. f_equal. apply IH.
    intros I. apply N. now right.
Qed.

Lemma position_before x t y a : order = x ++ t :: y -> ~ In t x -> In a x -> position a < position t.
Proof.
  intros E N I. destruct (order_facts p order queue O) as (ND & _). rewrite (position_in x t y E N).
  apply in_split in I as (u & v & ->). rewrite E, <- app_assoc in ND. simpl in ND. apply NoDup_remove_2 in ND.
  rewrite (position_in u a (v ++ t :: y)); [rewrite app_length; simpl; lia|now rewrite E, <- app_assoc|].
  intros I. apply ND, in_app_iff. auto.
Qed.

(** Where a task stands in order, its waits hold. *)
Lemma waits_hold_in_order t e k :
  In (e, k) (waits (task_at t)) ->
  exists x, (forall a, In a x -> position a < position t) /\ k <= signalled p (fun a => mem a x) e.
Proof.
  intros I. destruct (in_order t (waits_inside p _ _ I)) as (x & y & E & N). exists x.
  destruct (order_facts p order queue O) as (_ & _ & _ & _ & R).
  destruct (satisfied_waits p _ _ _ _ _ R E e k I) as [_ S]. rewrite app_nil_r in S. split; auto.
  intros a A. now apply (position_before x t y).
Qed.

Theorem order_extends_needs t a : t < size p -> In a (needs t) -> a < size p /\ position a < position t.
Proof.
  intros T I. apply in_app_iff in I as [I|I].
  - apply filter_In in I as [A I]. apply in_seq in A. apply andb_true_iff in I as [_ I]. apply Nat.ltb_lt in I. lia.
  - apply in_flat_map in I as ([e k] & W & I). apply filter_In in I as [A I]. apply in_seq in A. cbn [fst snd] in I.
    rewrite andb_true_iff, orb_true_iff, !Nat.leb_le in I. destruct I as [S K]. split; [lia|].
    destruct (waits_hold_in_order t e k W) as (x & X & H).
    destruct (le_lt_dec (position t) (position a)) as [L|]; auto. exfalso.
    assert (~ In a x) as N by (intros J; specialize (X a J); lia). destruct K as [K|K].
    + assert (signalled p (fun b => mem b x) e < total p e); [|lia]. unfold total.
      apply (signalled_lt p _ _ e a); auto; [lia|now apply signaller|]. now apply not_true_iff_false; rewrite mem_In.
    + unfold verify.ordinal in K.
      assert (signalled p (fun b => mem b x) e <= signalled p (fun b => position b <? position a) e); [|lia].
      apply signalled_le. intros b _ _ M. apply mem_In in M. specialize (X b M). apply Nat.ltb_lt. lia.
Qed.

(** ** The needs are those of the plan: neither more nor less *)
Lemma needs_follow t a : t < size p -> In a (needs t) -> follows p t a.
Proof.
  intros T I. pose proof (order_extends_needs t a T I) as [A L]. apply in_app_iff in I as [I|I].
  - apply filter_In in I as [_ I]. apply andb_true_iff in I as [Q _]. apply Nat.eqb_eq in Q.
    now apply (same_queue p order queue O).
  - apply in_flat_map in I as ([e k] & W & I). apply filter_In in I as [_ I]. cbn [fst snd] in I.
    rewrite andb_true_iff, orb_true_iff, !Nat.leb_le in I. destruct I as [S K].
    now apply (follows_by_wait p order queue O P t a e k).
Qed.

Lemma needs_suffice t E :
  t < size p -> incl (needs t) E ->
  (forall q a, In q (queues p) -> before a t q -> In a E) /\
  (forall e k, In (e, k) (waits (task_at t)) -> k <= signalled p (fun a => mem a E) e).
Proof.
  intros T I. destruct (order_facts p order queue O) as (ND & All & _ & Q & _). split.
  - intros q a Iq B. apply I, in_app_iff. left. rewrite Q in Iq. apply in_map_iff in Iq as (i & <- & _).
    apply before_filter in B as ((x & y & z & E') & Qa & Qt). apply Nat.eqb_eq in Qa, Qt.
    assert (In a order) as Ia by (rewrite E'; apply in_elt). apply filter_In. split; [apply in_seq; apply All in Ia;
      lia|].
    rewrite Qa, Qt, Nat.eqb_refl. simpl. apply Nat.ltb_lt.
    apply (position_before (x ++ a :: y) t z); [now rewrite E', <- app_assoc| |apply in_elt].
    rewrite E' in ND. replace (x ++ a :: y ++ t :: z) with ((x ++ a :: y) ++ t :: z) in ND by now rewrite <- app_assoc.
    apply NoDup_remove_2 in ND. intros J. apply ND, in_app_iff. auto.
  - intros e k W.
    assert (forall b, b < size p -> is_signaller p e b = true -> total p e <= k \/ ordinal e b <= k -> In b E) as Here.
    { intros b B S K. apply I, in_app_iff. right. apply in_flat_map. exists (e, k). split; auto.
      apply filter_In. split; [apply in_seq; lia|]. cbn [fst snd].
      now rewrite andb_true_iff, orb_true_iff, !Nat.leb_le. }
    assert (k <= total p e) as Some_total.
    { destruct (waits_hold_in_order t e k W) as (x & _ & H). eapply Nat.le_trans; [exact H|].
      apply signalled_le. auto. }
    destruct (le_lt_dec k (signalled p (fun a => mem a E) e)) as [|Few]; auto. exfalso.
    destruct (messages.minimum position
                (filter (fun b => is_signaller p e b && negb (mem b E)) (seq 0 (size p)))) as (b & Ib & First).
    { intros Nil. assert (total p e <= signalled p (fun a => mem a E) e); [|lia]. apply signalled_le.
      intros b B S _. apply signaller in S. apply not_false_iff_true. intros M.
      enough (In b (filter (fun b => is_signaller p e b && negb (mem b E)) (seq 0 (size p))))
        as J by now rewrite Nil in J.
      apply filter_In. split; [apply in_seq; lia|]. now rewrite S, M. }
    apply filter_In in Ib as [B Ib]. apply in_seq in B. rewrite andb_true_iff, not_mem in Ib. destruct Ib as [S N].
    apply N, Here; [lia|easy|right]. unfold verify.ordinal.
    enough (signalled p (fun c => position c <? position b) e <= signalled p (fun c => mem c E) e) by lia.
    apply signalled_le. intros c C Sc L. apply Nat.ltb_lt in L. apply signaller in Sc. apply not_false_iff_true.
      intros M.
    assert (position b <= position c); [|lia]. apply First, filter_In. split; [apply in_seq; lia|]. now rewrite Sc, M.
Qed.

Theorem needs_exact s t :
  reachable p s -> t < size p -> ~ In t (begun s) ->
  (step p s (State (t :: begun s) (ended s)) <-> incl (needs t) (ended s)).
Proof.
  intros R T N. split.
  - intros St a A. apply (needs_follow t a T A (State (t :: begun s) (ended s))); [now apply next with s|now left].
  - intros I. destruct s as [B E]. simpl in *. destruct (needs_suffice t E T I) as [Qs Ws]. constructor; auto.
    destruct (order_facts p order queue O) as (_ & All & In_range & Q & _). rewrite Q. apply in_concat.
    exists (filter (fun x => queue_of x =? queue_of t) order). apply All in T. split.
    + apply in_map_iff. exists (queue_of t). split; auto. apply in_seq. specialize (In_range t T). lia.
    + apply filter_In. now rewrite Nat.eqb_refl.
Qed.

(** * The theorems *)
(** Which tasks are messages, the processes at their ends, what each end needs before it posts, and the window. *)
Variable message : nat -> bool.
Variables from to : nat -> nat.
Variable side_needs : nat -> nat -> list nat.
Variable window : nat.
Notation reachable_by_messages := (messages.reachable (size p) message from to needs side_needs position window).
Notation step_by_messages := (messages.step (size p) message from to needs side_needs position window).

(** An end waits for no more than the message needs. *)
Hypothesis sides_need_no_more : forall q m, incl (side_needs q m) (needs m).

Theorem accepted_plans_do_not_deadlock s :
  0 < window -> reachable_by_messages s ->
  (forall x, x < size p -> In x (messages.finished s)) \/ exists s', step_by_messages s s'.
Proof.
  intros W. assert (forall x y, messages.needed message from to needs side_needs x y -> In y (needs x)) as Needs.
  { intros x y. unfold messages.needed, messages.needs. destruct (message x); auto. rewrite in_app_iff.
    intros [I|I]; now apply sides_need_no_more in I. }
  apply messages.no_deadlock; auto.
  - intros x y X I. now apply (order_extends_needs x y X), Needs.
  - exists position. intros x y X I. now apply (order_extends_needs x y X), Needs.
  - intros m x M _ _ C.
    enough (x < size p /\ position x < position m) by easy. induction C as [x y C|x y z C1 IH1 C2 IH2].
    + apply order_extends_needs; auto.
    + destruct (IH1 M) as [Y L]. destruct (IH2 Y). lia.
Qed.

(** If the two ends of a message together wait for all that it needs, what processes do by messages is a run of the
    plan: no task overtakes one that it has to follow. *)
Hypothesis sides_need_all : forall m, message m = true -> incl (needs m) (side_needs (from m) m ++ side_needs (to m) m).

Theorem runs_by_messages_are_runs s :
  reachable_by_messages s -> reachable p (State (messages.finished s) (messages.finished s)).
Proof.
  intros R.
  assert (reachable p (State (messages.finished s) (messages.finished s)) /\
          forall q m, In (q, m) (messages.posted s) -> incl (side_needs q m) (messages.finished s)) as []; [|easy].
  induction R as [|s s' R [IH Po] St]; simpl; [split; [constructor|easy]|].
  assert (forall x F, x < size p -> ~ In x F -> reachable p (State F F) -> incl (needs x) F ->
          reachable p (State (x :: F) (x :: F))) as Pass.
  { intros x F X N Rf I. apply next with (State (x :: F) F); [|constructor; [now left|easy]].
    apply next with (State F F); auto. now apply (needs_exact (State F F)). }
  inversion St; subst; simpl in *.
  - split; [now apply Pass|]. intros q m I y Y. right. now apply (Po q m).
  - split; auto. intros q' m' [E|I]; [injection E as <- <-; easy|now apply Po].
  - split.
    + apply Pass; auto. intros y Y. apply sides_need_all in Y; auto. apply in_app_iff in Y as [Y|Y];
        [now apply (Po (from m) m)|now apply (Po (to m) m)].
    + intros q m' I y Y. right. now apply (Po q m').
Qed.
End Accepted.

Theorem verified_plans_do_not_deadlock run_lengths message from to side_needs window :
  verify p order queue run_lengths = true -> 0 < window -> (forall q m, incl (side_needs q m) (needs m)) ->
  forall s, messages.reachable (size p) message from to needs side_needs position window s ->
  (forall x, x < size p -> In x (messages.finished s)) \/
  exists s', messages.step (size p) message from to needs side_needs position window s s'.
Proof.
  unfold verify. rewrite !andb_true_iff. intros [[[O _] _] _] W N s R.
  now apply (accepted_plans_do_not_deadlock O message from to side_needs window N s).
Qed.

(** So tasks that conflict keep their order under messages, too. *)
Theorem verified_plans_order_conflicts run_lengths message from to side_needs window :
  verify p order queue run_lengths = true -> (forall q m, incl (side_needs q m) (needs m)) ->
  (forall m, message m = true -> incl (needs m) (side_needs (from m) m ++ side_needs (to m) m)) ->
  forall s, messages.reachable (size p) message from to needs side_needs position window s ->
  forall a b, a < b < size p -> conflict p a b -> In b (messages.finished s) -> In a (messages.finished s).
Proof.
  intros V N A s R a b L C I. destruct (verify_sound _ _ _ _ V) as (_ & _ & _ & F). rewrite no_race_iff in F.
  unfold verify in V. rewrite !andb_true_iff in V. destruct V as [[[O P] _] _].
  pose proof (runs_by_messages_are_runs O P message from to side_needs window A s R) as Run.
  exact (F a b L C _ Run I).
Qed.
End Plan_messages.

Print Assumptions order_extends_needs.
Print Assumptions needs_exact.
Print Assumptions verified_plans_do_not_deadlock.
Print Assumptions runs_by_messages_are_runs.
Print Assumptions verified_plans_order_conflicts.
