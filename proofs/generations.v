(* SPDX-License-Identifier: Apache-2.0 *)
(* Generations: events of repeated copies that share a counter, and the wrap law.

   In a plan [p] each copy has events of its own. A plan
   that runs has fewer counters: the events of copies that are as many apart as there are banks are generations of one
   counter, which is never reset, so that a wait counts on all signals of the generations before its own. The wrap law
   says when that is the same: a signal of the next generation comes only after each wait for this one has begun, or
   after all signals of this one.

   Proved is the law for a given number of copies, all of which the rule looks at. *)
From Coq Require Import List Arith Lia Bool.
From hyperparallel Require Import model exact verify.
Import ListNotations.

Section Generations.
Variable p : plan.
Variables order queue : list nat.
(** Events are numbers below [events]; each is a generation of a counter. *)
Variable events : nat.
Variables counter generation : nat -> nat.

Notation task_at := (task_at p).
Notation position := (position order).

(** * The plan that runs *)
Definition same_counter e e' := counter e' =? counter e.
Definition earlier e := filter (fun e' => same_counter e e' && (generation e' <? generation e)) (seq 0 events).
(** The signals of all generations before that of [e]. *)
Definition carried_over e := list_sum (map (total p) (earlier e)).
Definition shared_task (k : task) : task :=
  Task (pool k) (map (fun w => (counter (fst w), snd w + carried_over (fst w))) (waits k)) (map counter (signals k))
    (accesses k).
Definition shared : plan := Plan (map shared_task (tasks p)) (queues p) (pools p).

(** * The rule *)
Definition signallers e := filter (is_signaller p e) (seq 0 (size p)).
Definition follows_by_witness t a := follows_task p order queue witness_depth t a.

(** Events are below [events], and no two events of a counter are of one generation. *)
Definition verify_events : bool :=
  forallb (fun k => forallb (fun e => e <? events) (signals k) && forallb (fun w => fst w <? events) (waits k))
    (tasks p) &&
  forallb (fun e => forallb (fun e' => negb (same_counter e e') || negb (generation e' =? generation e) || (e' =? e))
                      (seq 0 events)) (seq 0 events).
(** The order signals what a wait is for after all earlier generations. *)
Definition in_order e : bool :=
  forallb (fun e' => forallb (fun u => forallb (fun v => position u <? position v) (signallers e)) (signallers e'))
    (earlier e).
(** A signal of the next generation comes after the wait of [t] has begun, or after all signals of [e]. *)
Definition next_waits t e : bool :=
  forallb (fun e' => negb (same_counter e e') || negb (generation e' =? S (generation e)) ||
                     forallb (fun u => (u =? t) || follows_by_witness u t ||
                                       forallb (follows_by_witness u) (signallers e)) (signallers e')) (seq 0 events).
Definition is_waited e : bool := existsb (fun k => existsb (fun w => fst w =? e) (waits k)) (tasks p).
(** If there are generations beyond the next one, the next one is waited for. *)
Definition waited_again e : bool :=
  forallb (fun e' => negb (same_counter e e') || (generation e' <=? S (generation e)) ||
                     existsb (fun e1 => same_counter e e1 && (generation e1 =? S (generation e)) && is_waited e1)
                       (seq 0 events)) (seq 0 events).
Definition verify_wrap : bool :=
  verify_events &&
  forallb (fun t => forallb (fun w => in_order (fst w) && next_waits t (fst w) && waited_again (fst w))
                      (waits (task_at t))) (seq 0 (size p)).

(** * What the rule establishes: the wrap law

    [signals_before]: the order signals earlier generations of what is waited for before. [next_generation]: a signal of
    the next generation comes after the wait has begun, or after all signals of the wait's own. [next_is_awaited]: if
    there are later generations still, the next one is waited for. *)
Record wrap_law : Prop := {
  signals_inside : forall t e, In e (signals (task_at t)) -> e < events;
  waits_inside_events : forall t e k, In (e, k) (waits (task_at t)) -> e < events;
  generations_differ : forall e e', e < events -> e' < events -> counter e' = counter e ->
    generation e' = generation e -> e' = e;
  signals_before : forall t e k e' u v, In (e, k) (waits (task_at t)) -> e' < events -> counter e' = counter e ->
    generation e' < generation e -> In u (signallers e') -> In v (signallers e) -> before u v order;
  next_generation : forall t e k e' u, In (e, k) (waits (task_at t)) -> e' < events -> counter e' = counter e ->
    generation e' = S (generation e) -> In u (signallers e') ->
    u = t \/ follows p u t \/ forall v, In v (signallers e) -> follows p u v;
  next_is_awaited : forall t e k e', In (e, k) (waits (task_at t)) -> e' < events -> counter e' = counter e ->
    S (generation e) < generation e' -> exists e1 t1 k1, e1 < events /\ counter e1 = counter e /\
      generation e1 = S (generation e) /\ In (e1, k1) (waits (task_at t1)) }.

(** * Soundness *)

(** ** A counter is the sum of its events *)
Lemma sum_add (f g : nat -> nat) l :
  list_sum (map (fun x => f x + g x) l) = list_sum (map f l) + list_sum (map g l).
Proof. induction l; simpl; lia. Qed.

Lemma sum_none (l : list nat) : list_sum (map (fun _ => 0) l) = 0.
Proof. induction l; simpl; lia. Qed.

Lemma sum_filter (f : nat -> bool) g l :
  list_sum (map g (filter f l)) = list_sum (map (fun x => if f x then g x else 0) l).
Proof. induction l as [|h l IH]; simpl; auto. destruct (f h); simpl; lia. Qed.

Lemma sum_one c x l : NoDup l -> list_sum (map (fun y => if y =? x then c else 0) l) = if mem x l then c else 0.
Proof.
  induction 1 as [|h l N ND IH]; auto. simpl. rewrite IH. unfold mem. simpl. destruct (Nat.eqb_spec h x) as [->|D].
  - rewrite Nat.eqb_refl. simpl. destruct (existsb (Nat.eqb x) l) eqn:M; [|lia]. exfalso. now apply N, mem_In.
  - destruct (Nat.eqb_spec x h); [congruence|]. simpl. lia.
Qed.

Lemma task_shared t : model.task_at shared t = shared_task (task_at t).
Proof.
  unfold model.task_at, shared. simpl. change (Task 0 [] [] []) with (shared_task (Task 0 [] [] [])) at 1.
  apply map_nth.
Qed.
Lemma size_shared : size shared = size p.
Proof. unfold size. simpl. apply map_length. Qed.

Lemma in_signallers e u : In u (signallers e) <-> u < size p /\ 0 < signals_of p e u.
Proof. clear events counter generation. unfold signallers. rewrite filter_In, in_seq, signaller. intuition lia. Qed.

Section Lawful.
Hypothesis O : verify_order p order queue = true.
Hypothesis law : wrap_law.

Lemma signalled_inside t e : 0 < signals_of p e t -> e < events.
Proof. intros S. apply (signals_inside law t). now apply (count_occ_In Nat.eq_dec) in S. Qed.

Lemma signals_shared t c :
  signals_of shared c t = list_sum (map (fun e => if counter e =? c then signals_of p e t else 0) (seq 0 events)).
Proof.
  unfold signals_of at 1. rewrite task_shared. simpl.
  assert (forall e, In e (signals (task_at t)) -> e < events) as Inside.
  { intros e I. now apply (signals_inside law t). }
  unfold signals_of. induction (signals (task_at t)) as [|h l IH]; simpl.
  - rewrite <- (sum_none (seq 0 events)) at 1. f_equal. apply map_ext. intros e. now destruct (counter e =? c).
  - assert (count_occ Nat.eq_dec (map counter l) c =
            list_sum (map (fun e => if counter e =? c then count_occ Nat.eq_dec l e else 0) (seq 0 events))) as IH'
      by (apply IH; intros; apply Inside; now right).
    transitivity (list_sum (map (fun e => (if e =? h then if counter h =? c then 1 else 0 else 0) +
                     (if counter e =? c then count_occ Nat.eq_dec l e else 0)) (seq 0 events))).
    + rewrite sum_add, <- IH', sum_one by apply seq_NoDup.
      assert (mem h (seq 0 events) = true) as ->.
      { apply mem_In, in_seq. specialize (Inside h (or_introl eq_refl)). lia. }
      destruct (Nat.eq_dec (counter h) c) as [E|N]; destruct (Nat.eqb_spec (counter h) c); try congruence; lia.
    + f_equal. apply map_ext. intros e. destruct (Nat.eq_dec h e) as [->|N].
      * rewrite Nat.eqb_refl. destruct (counter e =? c); lia.
      * destruct (Nat.eqb_spec e h); [congruence|]. lia.
Qed.

Lemma signalled_shared who c :
  signalled shared who c = list_sum (map (fun e => if counter e =? c then signalled p who e else 0) (seq 0 events)).
Proof.
  unfold signalled. rewrite size_shared. induction (seq 0 (size p)) as [|t l IH]; simpl.
  - rewrite <- (sum_none (seq 0 events)) at 1. f_equal. apply map_ext. intros e. now destruct (counter e =? c).
  - rewrite IH. destruct (who t); [rewrite signals_shared|].
    + rewrite <- sum_add. f_equal. apply map_ext. intros e. destruct (counter e =? c); lia.
    + simpl. f_equal.
Qed.

(** ** What the rule says of a wait *)
Lemma wait_count t e k : In (e, k) (waits (task_at t)) -> 1 <= k <= total p e.
Proof.
  intros I. pose proof (waits_inside p _ _ I) as T.
  destruct (order_facts p order queue O) as (_ & All & _ & _ & R). apply All, in_split in T as (x & y & Eq).
  destruct (satisfied_waits p _ _ _ _ _ R Eq e k I) as [K S].
  split; [easy|]. eapply Nat.le_trans; [exact S|]. apply signalled_le. auto.
Qed.

Lemma some_of who e : 0 < signalled p who e -> exists u, In u (signallers e) /\ who u = true.
Proof.
  intros L. destruct (existsb who (signallers e)) eqn:X.
  - apply existsb_exists in X as (u & U & Wu). eauto.
  - exfalso. assert (signalled p who e <= signalled p (fun _ => false) e) as None_of.
    { apply signalled_le. intros u U Su Wu. assert (existsb who (signallers e) = true); [|congruence].
      apply existsb_exists. exists u. split; auto. now apply in_signallers. }
    assert (signalled p (fun _ => false) e = 0) as Z by (unfold signalled; apply sum_none). lia.
Qed.

(** The wait of [t] has begun, or all signals of [e] have happened. *)
Definition passed s t e := In t (ended s) \/ incl (signallers e) (ended s).

Lemma next_passes s t e k u e' :
  reachable p s -> In (e, k) (waits (task_at t)) -> counter e' = counter e -> generation e' = S (generation e) ->
  In u (signallers e') -> In u (ended s) -> passed s t e.
Proof.
  intros R I C G U E. destruct (bookkeeping p s R) as (_ & _ & Inc & _). specialize (Inc u E).
  assert (e' < events) as Le by (apply in_signallers in U as [_ U]; now apply (signalled_inside u)).
  destruct (next_generation law t e k e' u I Le C G U) as [->|[F|F]]; [now left|left; now apply (F s R)|right].
  intros v V. now apply (F v V s R).
Qed.

(** What has begun to wait for an event, or waits for one of which all signals have happened, has seen a signal. *)
Lemma some_signal s t e k : reachable p s -> In (e, k) (waits (task_at t)) -> passed s t e ->
  exists u, In u (signallers e) /\ In u (ended s).
Proof.
  intros R I Ps. pose proof (wait_count t e k I) as K.
  destruct Ps as [E|All].
  - destruct (bookkeeping p s R) as (_ & _ & Inc & _). destruct (began_rightly p s R t (Inc t E)) as [_ Ws].
    destruct (some_of (fun a => mem a (ended s)) e) as (u & U & M); [specialize (Ws e k I); lia|].
    exists u. split; auto. now apply mem_In.
  - destruct (some_of (fun _ => true) e) as (u & U & _); [unfold total in K; lia|]. exists u. auto.
Qed.

(** So the next generation speaks for all later ones: its waits have begun, or it has been signalled, before. *)
Lemma later_passes n : forall s t e k u e',
  reachable p s -> In (e, k) (waits (task_at t)) -> counter e' = counter e -> generation e' = S n + generation e ->
  In u (signallers e') -> In u (ended s) -> passed s t e.
Proof.
  induction n as [|n IH]; intros s t e k u e' R I C G U E; [now apply (next_passes s t e k u e')|].
  assert (e' < events) as Le' by (apply in_signallers in U as [_ U]; now apply (signalled_inside u)).
  destruct (next_is_awaited law t e k e' I Le' C) as (e1 & t1 & n1 & _ & C1 & G1 & I1'); [lia|].
  destruct (some_signal s t1 e1 n1 R I1') as (u1 & U1 & E1); [apply (IH s t1 e1 n1 u e'); auto; congruence || lia|].
  now apply (next_passes s t e k u1 e1).
Qed.

(** ** Runs of the plan with shared counters are runs of the plan with events of its own *)
Theorem shared_runs_are_runs s : reachable shared s -> reachable p s.
Proof.
  induction 1 as [|s s' R IH St]; [constructor|]. apply next with s; auto.
  inversion St; subst; [|now constructor]. rewrite size_shared in *. constructor; auto.
  intros e k I. pose proof (waits_inside_events law t e k I) as Le. pose proof (wait_count t e k I) as K.
  assert (In (counter e, k + carried_over e) (waits (model.task_at shared t))) as Is.
  { rewrite task_shared. simpl. apply in_map_iff. now exists (e, k). }
  match goal with H : forall e k, In (e, k) (waits (model.task_at shared t)) -> _ |- _ => specialize (H _ _ Is) end.
  rewrite signalled_shared in *. set (now := fun a => mem a E) in *.
  (* A later generation has been signalled: then all signals of [e] have happened. *)
  destruct (existsb (fun e' => (counter e' =? counter e) && (generation e <? generation e') &&
                          (0 <? signalled p now e')) (seq 0 events)) eqn:Later.
  - apply existsb_exists in Later as (e' & Ie' & Later). rewrite !andb_true_iff, Nat.eqb_eq, !Nat.ltb_lt in Later.
    destruct Later as [[C G] Sg].
    destruct (some_of now e' Sg) as (u & U & Ue). apply mem_In in Ue.
    destruct (later_passes (generation e' - S (generation e)) (State B E) t e k u e') as [In_e|All]; auto; [lia|..].
    + exfalso. destruct (bookkeeping p _ IH) as (_ & _ & Inc & _). now apply Inc in In_e.
    + transitivity (total p e); [easy|]. apply signalled_le. intros v V Sv _. apply mem_In, All.
      now apply in_signallers.
  - (* None has: the counter is at most that of the generations before and of [e]. *)
    assert (list_sum (map (fun e' => if counter e' =? counter e then signalled p now e' else 0) (seq 0 events)) <=
            carried_over e + signalled p now e) as Most; [|lia].
    unfold carried_over, earlier. rewrite sum_filter.
    assert (mem e (seq 0 events) = true) as M by (apply mem_In, in_seq; lia).
    pose proof (sum_one (signalled p now e) e (seq 0 events) (seq_NoDup events 0)) as One. rewrite M in One.
    rewrite <- One, <- sum_add. apply sum_le. intros e' Ie'. unfold same_counter.
    destruct (Nat.eqb_spec (counter e') (counter e)) as [C|]; [|simpl; lia]. simpl.
    destruct (Nat.ltb_spec (generation e') (generation e)) as [|G].
    + assert (signalled p now e' <= total p e') by (apply signalled_le; auto). lia.
    + destruct (Nat.eqb_spec e' e) as [->|N]; [lia|].
      apply in_seq in Ie' as Le'. destruct (Nat.eq_dec (generation e') (generation e)) as [Eg|].
      { exfalso. apply N. apply (generations_differ law); auto. lia. }
      destruct (signalled p now e') eqn:Z; [lia|exfalso].
      enough (existsb (fun e' => (counter e' =? counter e) && (generation e <? generation e') &&
                                 (0 <? signalled p now e')) (seq 0 events) = true) by congruence.
      apply existsb_exists. exists e'. split; auto. rewrite !andb_true_iff, Nat.eqb_eq, !Nat.ltb_lt. lia.
Qed.

(** ** The order is a run of the counters, too *)
Lemma shared_completes : completes shared.
Proof.
  destruct (order_facts p order queue O) as (ND & All & In_range & Q & R). apply (completion shared order).
  - intros t. rewrite size_shared. symmetry. apply All.
  - intros t T. simpl. rewrite Q. apply in_concat.
    exists (filter (fun a => queue_of p queue a =? queue_of p queue t) order).
    split; [|apply filter_In; now rewrite Nat.eqb_refl].
    apply in_map_iff. exists (queue_of p queue t). split; auto. apply in_seq. specialize (In_range t T). lia.
  - intros x t y E. split.
    + intros q a Iq B. simpl in Iq. rewrite Q in Iq. apply in_map_iff in Iq as (i & <- & _).
      apply before_filter in B as ((x' & y' & z' & E') & _).
      rewrite E in E', ND. replace (x' ++ a :: y' ++ t :: z') with ((x' ++ a :: y') ++ t :: z') in E'
        by now rewrite <- app_assoc.
      rewrite (unique_split _ _ _ _ _ E' ND). apply in_elt.
    + intros c n I. rewrite task_shared in I. simpl in I. apply in_map_iff in I as ([e k] & Eq & I).
      injection Eq as <- <-. pose proof (waits_inside_events law t e k I) as Le.
      pose proof (wait_count t e k I) as K.
      destruct (satisfied_waits p _ _ _ _ _ R E e k I) as [_ S]. rewrite app_nil_r in S.
      rewrite signalled_shared. set (now := fun a => mem a x) in *.
      destruct (some_of now e) as (v & V & Vx); [lia|]. apply mem_In in Vx.
      transitivity (carried_over e + signalled p now e); [lia|]. unfold carried_over, earlier. rewrite sum_filter.
      assert (mem e (seq 0 events) = true) as M by (apply mem_In, in_seq; lia).
      pose proof (sum_one (signalled p now e) e (seq 0 events) (seq_NoDup events 0)) as One. rewrite M in One.
      rewrite <- One, <- sum_add. apply sum_le. intros e' Ie'. unfold same_counter.
      destruct (Nat.eqb_spec (counter e') (counter e)) as [C|]; simpl.
      2: { destruct (Nat.eqb_spec e' e) as [->|]; [congruence|lia]. }
      destruct (Nat.ltb_spec (generation e') (generation e)) as [G|]; simpl.
      * destruct (Nat.eqb_spec e' e) as [->|]; [lia|]. rewrite Nat.add_0_r. apply signalled_le. intros u U Su _.
        apply mem_In. apply in_seq in Ie'. apply in_split in Vx as (x1 & x2 & ->). apply in_app_iff. left.
        rewrite <- app_assoc in E. simpl in E. rewrite E in ND. apply (split_in x1 (x2 ++ t :: y) v); auto.
        rewrite <- E. apply (signals_before law t e k e'); auto; [lia|]. now apply in_signallers.
      * destruct (Nat.eqb_spec e' e) as [->|]; lia.
Qed.

Theorem wrap_law_sound : safe p -> safe shared.
Proof.
  intros (_ & Pl & _ & F). rewrite no_race_iff in F.
  split; [apply runs_once|]. split; [|split; [exact shared_completes|]].
  - destruct Pl as [ND Pl]. split; auto. intros q t T. simpl in T. rewrite size_shared, task_shared. simpl.
    now apply Pl.
  - rewrite no_race_iff, size_shared. intros a b L C s R I. refine (F a b L _ s _ I).
    + destruct C as (u & v & U & Vv & C). rewrite !task_shared in *. now exists u, v.
    + exact (shared_runs_are_runs s R).
Qed.
End Lawful.

(** ** The rule establishes the law *)
Lemma verify_wrap_law :
  verify_order p order queue = true -> verify_partial_waits p order queue = true -> verify_wrap = true -> wrap_law.
Proof.
  intros O P W. unfold verify_wrap, verify_events in W. rewrite !andb_true_iff, !forallb_forall in W.
  destruct W as [[E D] W].
  assert (forall t, t < size p -> (forall e, In e (signals (task_at t)) -> e < events) /\
            forall e k, In (e, k) (waits (task_at t)) -> e < events) as Inside.
  { intros t T. specialize (E (task_at t) (nth_In _ _ T)). rewrite andb_true_iff, !forallb_forall in E.
    split; [intros e I; now apply Nat.ltb_lt, E|]. intros e k I. now apply Nat.ltb_lt, (proj2 E (e, k)). }
  assert (forall t e k, In (e, k) (waits (task_at t)) ->
            in_order e = true /\ next_waits t e = true /\ waited_again e = true) as Each.
  { intros t e k I. pose proof (waits_inside p _ _ I) as T. specialize (W t). rewrite in_seq, forallb_forall in W.
    specialize (W ltac:(lia) (e, k) I). cbn [fst] in W. now rewrite !andb_true_iff in W. }
  assert (forall e u, In u (signallers e) -> u < size p) as Sig by (intros e u U; now apply in_signallers in U).
  destruct (order_facts p order queue O) as (_ & All & _). constructor.
  - intros t e I. destruct (le_lt_dec (size p) t) as [L|T]; [|now apply (Inside t T)].
    unfold model.task_at in I. now rewrite nth_overflow in I.
  - intros t e k I. now apply (proj2 (Inside t (waits_inside p _ _ I)) e k).
  - intros e e' L L' C G. specialize (D e). rewrite in_seq, forallb_forall in D. specialize (D ltac:(lia) e').
    rewrite in_seq in D. specialize (D ltac:(lia)). unfold same_counter in D. rewrite C, G, !Nat.eqb_refl in D.
    now apply Nat.eqb_eq.
  - intros t e k e' u v I L C G U V. destruct (Each t e k I) as (Ord & _). unfold in_order in Ord.
    rewrite forallb_forall in Ord. assert (In e' (earlier e)) as Ear.
    { apply filter_In. split; [apply in_seq; lia|]. unfold same_counter. rewrite C, Nat.eqb_refl.
      now apply Nat.ltb_lt. }
    specialize (Ord e' Ear). rewrite forallb_forall in Ord. specialize (Ord u U). rewrite forallb_forall in Ord.
    apply index_before; [apply All; eauto|]. now apply Nat.ltb_lt, Ord.
  - intros t e k e' u I L C G U. destruct (Each t e k I) as (_ & N & _). unfold next_waits in N.
    rewrite forallb_forall in N. specialize (N e'). rewrite in_seq in N. specialize (N ltac:(lia)).
    unfold same_counter in N. rewrite C, G, !Nat.eqb_refl in N. simpl in N. rewrite forallb_forall in N.
    specialize (N u U). pose proof (waits_inside p _ _ I) as T. rewrite !orb_true_iff, Nat.eqb_eq in N.
    destruct N as [[N|N]|N]; [now left|right; left|right; right].
    + now apply (follows_task_sound p order queue O P witness_depth u t (Sig _ _ U)).
    + intros v V. rewrite forallb_forall in N.
      now apply (follows_task_sound p order queue O P witness_depth u v (Sig _ _ U) (Sig _ _ V)), N.
  - intros t e k e' I L C G. destruct (Each t e k I) as (_ & _ & A). unfold waited_again in A.
    rewrite forallb_forall in A. specialize (A e'). rewrite in_seq in A. specialize (A ltac:(lia)).
    unfold same_counter in A. rewrite C, Nat.eqb_refl in A. simpl in A.
    destruct (Nat.leb_spec (generation e') (S (generation e))) as [|_]; [lia|]. simpl in A.
    apply existsb_exists in A as (e1 & L1 & A). rewrite !andb_true_iff, !Nat.eqb_eq in A. destruct A as [[C1 G1] Wd].
    apply in_seq in L1. unfold is_waited in Wd. apply existsb_exists in Wd as (k1 & T1 & Wd).
    apply existsb_exists in Wd as ([e2 n1] & I1 & Q). simpl in Q. apply Nat.eqb_eq in Q. subst e2.
    destruct (In_nth _ _ (Task 0 [] [] []) T1) as (t1 & _ & N1). exists e1, t1, n1.
    repeat split; auto; [lia|]. unfold model.task_at. now rewrite N1.
Qed.

(** * The theorem: what verify accepts with events of its own is safe with shared counters, if the wrap law holds *)
Theorem verify_wrap_sound run_lengths :
  verify p order queue run_lengths = true -> verify_wrap = true -> safe shared.
Proof.
  intros V W. pose proof (verify_sound p order queue run_lengths V) as S. unfold verify in V.
  rewrite !andb_true_iff in V. destruct V as [[[O P] _] _]. exact (wrap_law_sound O (verify_wrap_law O P W) S).
Qed.
End Generations.

Print Assumptions shared_runs_are_runs.
Print Assumptions wrap_law_sound.
Print Assumptions verify_wrap_sound.

(** * An accepted and a refused pair of copies

    In each of two copies a producer (tasks 0 and 2) writes a slot, and a consumer (tasks 1 and 3) reads it. The
    producers have a queue each, and the copies share their counters. The producer of copy 1 waits for the consumer of
    copy 0: accepted. Without that wait each copy by itself is as it should be, and the plan with events of its own is
    accepted. But the signal of task 2 could release task 1, for which task 0 has not written yet: the wrap law is
    refused, and indeed the plan that runs is not safe. *)
Definition two_copies (waits_of_second : list (nat * nat)) : plan :=
  Plan [Task 0 [] [0] [Access 0 0 64 true]; Task 1 [(0, 1)] [1] [Access 0 0 64 false];
        Task 0 waits_of_second [2] [Access 1 0 64 true]; Task 1 [(2, 1)] [3] [Access 1 0 64 false]]
    [[0]; [2]; [1; 3]] [0; 0; 1].
Definition in_two_copies : list nat := [0; 1; 2; 3].
Definition on_three_queues : list nat := [0; 2; 1; 2].
Definition kept_apart (waits_of_second : list (nat * nat)) : bool :=
  verify_wrap (two_copies waits_of_second) in_two_copies on_three_queues 4 (fun e => e mod 2) (fun e => e / 2).

Compute kept_apart [(1, 1)].
Compute kept_apart [].
Example copies_accepted :
  verify (two_copies [(1, 1)]) in_two_copies on_three_queues [1; 1; 1; 1] = true /\ kept_apart [(1, 1)] = true.
Proof. split; reflexivity. Qed.
Example accepted_copies_are_safe : safe (shared (two_copies [(1, 1)]) 4 (fun e => e mod 2) (fun e => e / 2)).
Proof. destruct copies_accepted as [V W]. exact (verify_wrap_sound _ _ _ _ _ _ _ V W). Qed.
Example each_copy_accepted : verify (two_copies []) in_two_copies on_three_queues [1; 1; 1; 1] = true.
Proof. reflexivity. Qed.
Example wrap_refused : kept_apart [] = false.
Proof. reflexivity. Qed.
Example refused_copies_are_not_safe : ~ safe (shared (two_copies []) 4 (fun e => e mod 2) (fun e => e / 2)).
Proof. rewrite <- check_exactly_exact. discriminate. Qed.
