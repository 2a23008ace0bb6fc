(* SPDX-License-Identifier: Apache-2.0 *)
(* Periodic plans: a window of copies proves every number of copies that share counters.

   The parts of include/hyperparallel/taskflow/periodic_verify.hpp together: periods.v proves all copies with events of
   their own, generations.v proves what shares counters, and here the wrap law of the window becomes that of all copies.
   The rule is asked wherever the window has room for it; the C++ asks it once, of the first copies. Where one queue has
   all signallers of an event, the C++ lets waits go back further than the event has banks; the rule here does not. *)
From Coq Require Import List Arith Lia Bool.
From hyperparallel Require Import model exact verify generations periods.
Import ListNotations.

Section Periodic.
Variable period : list period_task.
Variables events stages : nat.
Variable stage : nat -> nat.
Variable own_order : list nat.
Variable own_queues : list (list nat).
Variable own_pools : list nat.
Variable queue_of_task : nat -> nat.
(** Event [e] of copies [c] and [c + banks] share a counter. *)
Variables banks window : nat.
Variable run_lengths : nat -> list nat.

Notation size := (length period).
Notation task_of t := (nth t period nothing).
Notation copies := (copies period events stages stage own_queues own_pools).
Notation order_of := (order_of period stages stage own_order).
Notation queues_of := (queues_of period queue_of_task).

Definition counter_of x := (x / events) mod banks * events + x mod events.
Definition generation_of x := x / events / banks.
Definition signals_event e t := mem e (own_signals (task_of t)).

(** * The rule: of each wait, and each signaller of its event *)
Definition witnessed t a := follows_task (copies window) (order_of window) (queues_of window) witness_depth t a.
Definition verify_window_wrap : bool :=
  (0 <? banks) && (banks <? window) &&
  forallb (fun t => forallb (fun w =>
    let '(e, d, _) := w in
    (d <=? banks) &&
    forallb (fun u => negb (signals_event e u) ||
      (* a copy's signals come before those of the copy that uses the counter next *)
      forallb (fun v => negb (signals_event e v) ||
                        (position (order_of window) v <? position (order_of window) (banks * size + u))) (seq 0 size) &&
      (* and the next signal after the wait has begun, or after all signals that it is for *)
      forallb (fun j => (window <=? j + banks) || ((j + banks) * size + u =? (j + d) * size + t) ||
                        witnessed ((j + banks) * size + u) ((j + d) * size + t) ||
                        forallb (fun v => negb (signals_event e v) || witnessed ((j + banks) * size + u) (j * size + v))
                          (seq 0 size)) (seq 0 window)) (seq 0 size))
    (carried_waits (task_of t))) (seq 0 size).

(** * Proof *)
Hypothesis schedule_checked : check_schedule period stages stage own_order own_queues queue_of_task = true.
Hypothesis numbers_checked : check_numbers period events window = true.
Hypothesis window_verified : verify (copies window) (order_of window) (queues_of window) (run_lengths window) = true.
Hypothesis wrap_verified : verify_window_wrap = true.

Notation facts := (number_facts period events window numbers_checked).
Notation inside := (own_order_inside period stages stage own_order own_queues queue_of_task schedule_checked).

Lemma some_banks : 0 < banks < window.
Proof. unfold verify_window_wrap in wrap_verified. rewrite !andb_true_iff, !Nat.ltb_lt in wrap_verified. easy. Qed.

Lemma wrap_of_window t e d k u : t < size -> In (e, d, k) (carried_waits (task_of t)) -> u < size ->
  In e (own_signals (task_of u)) ->
  d <= banks /\
  (forall v, v < size -> In e (own_signals (task_of v)) ->
     before (0 * size + v) (banks * size + u) (order_of window)) /\
  forall j, j + banks < window ->
    (j + banks) * size + u = (j + d) * size + t \/
    follows (copies window) ((j + banks) * size + u) ((j + d) * size + t) \/
    forall v, v < size -> In e (own_signals (task_of v)) ->
      follows (copies window) ((j + banks) * size + u) (j * size + v).
Proof.
  intros T I U S. pose proof some_banks as B. unfold verify_window_wrap in wrap_verified.
  rewrite !andb_true_iff, forallb_forall in wrap_verified. destruct wrap_verified as [_ W].
  specialize (W t). rewrite in_seq, forallb_forall in W. specialize (W ltac:(lia) _ I). simpl in W.
  apply andb_true_iff in W as [D W]. apply Nat.leb_le in D. rewrite forallb_forall in W. specialize (W u).
  rewrite in_seq in W. specialize (W ltac:(lia)).
  assert (forall v, In e (own_signals (task_of v)) -> signals_event e v = true) as Sig
    by (intros v V; now apply mem_In).
  rewrite (Sig u S) in W. simpl in W. apply andb_true_iff in W as [O N].
  unfold verify in window_verified. rewrite !andb_true_iff in window_verified.
  destruct window_verified as [[[Ov P] _] _].
  destruct (order_facts _ _ _ Ov) as (_ & All & _). rewrite size_copies in All.
  split; [easy|]. split.
  - intros v V Sv. rewrite forallb_forall in O. specialize (O v). rewrite in_seq, (Sig v Sv) in O.
    specialize (O ltac:(lia)). simpl in O. apply Nat.ltb_lt in O. simpl. apply index_before; [apply All; nia|exact O].
  - intros j J. rewrite forallb_forall in N. specialize (N j). rewrite in_seq in N. specialize (N ltac:(lia)).
    destruct (Nat.leb_spec window (j + banks)); [lia|]. simpl in N. rewrite !orb_true_iff, Nat.eqb_eq in N.
    destruct N as [[N|N]|N]; [now left|right; left|right; right].
    + apply (follows_task_sound _ _ _ Ov P witness_depth); rewrite ?size_copies; auto; nia.
    + intros v V Sv. rewrite forallb_forall in N. specialize (N v). rewrite in_seq, (Sig v Sv) in N.
      specialize (N ltac:(lia)). simpl in N.
      apply (follows_task_sound _ _ _ Ov P witness_depth); rewrite ?size_copies; auto; nia.
Qed.

(** ** Numbers of events *)
Lemma counter_of_event c e : e < events -> counter_of (c * events + e) = c mod banks * events + e.
Proof.
  clear. intros E. unfold counter_of. rewrite Nat.div_add_l, (Nat.div_small e), Nat.add_0_r by lia. f_equal.
  rewrite Nat.add_comm, Nat.mod_add by lia. now apply Nat.mod_small.
Qed.
Lemma generation_of_event c e : e < events -> generation_of (c * events + e) = c / banks.
Proof. clear. intros E. unfold generation_of. now rewrite Nat.div_add_l, (Nat.div_small e), Nat.add_0_r by lia. Qed.
Lemma event_number n x : x < n * events -> exists c e, c < n /\ e < events /\ x = c * events + e.
Proof.
  clear. intros T. assert (events <> 0) as N by nia. exists (x / events), (x mod events).
  split; [now apply Nat.div_lt_upper_bound; lia|]. split; [now apply Nat.mod_upper_bound|].
  rewrite Nat.mul_comm. now apply Nat.div_mod.
Qed.
Lemma one_event c e c' e' : e < events -> e' < events -> c * events + e = c' * events + e' -> c = c' /\ e = e'.
Proof.
  clear. intros T T' E. assert (c = c') as ->; [|lia]. destruct (lt_eq_lt_dec c c') as [[|]|]; auto; exfalso; nia.
Qed.
Lemma in_signallers_of n c e u : c < n -> e < events ->
  (In u (signallers (copies n) (c * events + e)) <->
   exists i, i < size /\ u = c * size + i /\ In e (own_signals (task_of i))).
Proof.
  intros C E. rewrite in_signallers, size_copies. split.
  - intros [U S]. apply number_of in U as (c' & i & C' & I & ->).
    rewrite (signals_copies _ _ _ _ _ _ window numbers_checked) in S by auto.
    destruct (Nat.eqb_spec c' c) as [->|]; [|lia]. exists i. repeat split; auto. now apply (count_occ_In Nat.eq_dec).
  - intros (i & I & -> & S). split; [nia|]. rewrite (signals_copies _ _ _ _ _ _ window numbers_checked) by auto.
    rewrite Nat.eqb_refl. now apply (count_occ_In Nat.eq_dec).
Qed.

(** Two events of a counter are of one number, and their copies as many apart as the generations say. *)
Lemma of_one_counter c e c' e' : e < events -> e' < events ->
  counter_of (c' * events + e') = counter_of (c * events + e) ->
  e' = e /\ exists r, c = banks * (c / banks) + r /\ c' = banks * (c' / banks) + r.
Proof.
  intros E E' C. pose proof some_banks as B. rewrite !counter_of_event in C by auto.
  apply one_event in C as [C ->]; auto.
  split; auto. exists (c mod banks). split; [apply Nat.div_mod; lia|]. rewrite <- C. apply Nat.div_mod. lia.
Qed.

Theorem window_wraps_all_copies n : window <= n ->
  wrap_law (copies n) (order_of n) (n * events) counter_of generation_of.
Proof.
  intros Wn. pose proof some_banks as B.
  assert (forall t e' k, In (e', k) (waits (task_at (copies n) t)) -> exists c i e d, c < n /\ i < size /\
            t = c * size + i /\ In (e, d, k) (carried_waits (task_of i)) /\ d <= c /\ e < events /\
            e' = (c - d) * events + e) as Waits.
  { intros t e' k I. pose proof (waits_inside _ _ _ I) as T. rewrite size_copies in T.
    apply number_of in T as (c & i & C & Ti & ->). apply in_waits in I as (e & d & I & D & ->); auto.
    exists c, i, e, d. repeat split; auto. destruct (facts i Ti) as [_ F]. now apply (F e d k). }
  constructor.
  - intros t e I. destruct (le_lt_dec (n * size) t) as [L|T].
    { unfold task_at in I. rewrite nth_overflow in I; [easy|].
      pose proof (size_copies period events stages stage own_queues own_pools n) as Sz.
      unfold model.size in Sz. lia. }
    apply number_of in T as (c & i & C & Ti & ->). rewrite task_copies in I by auto. simpl in I.
    apply in_map_iff in I as (e' & <- & I). destruct (facts i Ti) as [F _]. specialize (F e' I). nia.
  - intros t e k I. destruct (Waits t e k I) as (c & i & e0 & d & C & _ & _ & _ & _ & E & ->). nia.
  - intros x x' X X' C G. apply event_number in X as (c & e & _ & E & ->), X' as (c' & e' & _ & E' & ->).
    destruct (of_one_counter c e c' e' E E' C) as (-> & r & R & R'). rewrite !generation_of_event in G by auto.
    f_equal. f_equal. rewrite R, R', G. reflexivity.
  - intros t x k x' u v I X' C G U V. destruct (Waits t x k I) as (c & i & e & d & Cn & Ti & -> & J & D & E & ->).
    apply event_number in X' as (c' & e' & C' & E' & ->).
    destruct (of_one_counter (c - d) e c' e' E E' C) as (-> & r & R & R'). rewrite !generation_of_event in G by auto.
    apply in_signallers_of in U as (iu & Iu & -> & Su); auto.
    apply in_signallers_of in V as (iv & Iv & -> & Sv); auto; [|lia].
    destruct (wrap_of_window i e d k iv Ti J Iv Sv) as (_ & Ord & _). specialize (Ord iu Iu Su).
    assert (c' + banks <= c - d) by nia. unfold periods.order_of in *.
    apply before_expand in Ord; auto using inside. apply before_expand; auto using inside.
    destruct Ord as (O1 & O2 & _ & _ & K). repeat split; auto; [lia|].
    destruct (Nat.eq_dec (c' + banks) (c - d)); [|left; lia].
    destruct K as [K|[K Be]]; [left; lia|right; split; [lia|auto]].
  - intros t x k x' u I X' C G U. destruct (Waits t x k I) as (c & i & e & d & Cn & Ti & -> & J & D & E & ->).
    apply event_number in X' as (c' & e' & C' & E' & ->).
    destruct (of_one_counter (c - d) e c' e' E E' C) as (-> & r & R & R'). rewrite !generation_of_event in G by auto.
    assert (c' = c - d + banks) as -> by (rewrite G in R'; nia).
    apply in_signallers_of in U as (iu & Iu & -> & Su); auto.
    destruct (wrap_of_window i e d k iu Ti J Iu Su) as (Db & _ & Next).
    assert (exists a j, c - d = a + j /\ a + banks < window /\ j + window <= n) as (a & j & Ca & Aw & Jn)
      by (exists (c - d - min (c - d) (n - window)), (min (c - d) (n - window)); lia).
    assert (forall q, (c - d + banks) * size + q = (a + banks) * size + q + j * size) as Up
      by (intros; rewrite Ca; nia).
    assert (c * size + i = (a + d) * size + i + j * size) as Ct by (replace c with (a + j + d) by lia; nia).
    rewrite Up, Ct. destruct (Next a Aw) as [Q|[F|F]].
    + left. rewrite Q. reflexivity.
    + right. left. apply (window_follows _ _ _ _ _ _ _ _ schedule_checked window numbers_checked run_lengths
                            window_verified); auto; nia.
    + right. right. intros v V. apply in_signallers_of in V as (iv & Iv & -> & Sv); auto; [|lia].
      replace ((c - d) * size + iv) with (a * size + iv + j * size) by (rewrite Ca; nia).
      apply (window_follows _ _ _ _ _ _ _ _ schedule_checked window numbers_checked run_lengths
               window_verified); auto; nia.
  - intros t x k x' I X' C G. destruct (Waits t x k I) as (c & i & e & d & Cn & Ti & -> & J & D & E & ->).
    apply event_number in X' as (c' & e' & C' & E' & ->).
    destruct (of_one_counter (c - d) e c' e' E E' C) as (-> & r & R & R'). rewrite !generation_of_event in G by auto.
    assert (c - d + 2 * banks <= c') by nia.
    assert (d <= banks) as Db.
    { pose proof wrap_verified as W. unfold verify_window_wrap in W. rewrite !andb_true_iff, forallb_forall in W.
      destruct W as [_ W]. specialize (W i). rewrite in_seq, forallb_forall in W. specialize (W ltac:(lia) _ J).
      simpl in W. apply andb_true_iff in W as [W _]. now apply Nat.leb_le. }
    exists ((c - d + banks) * events + e), ((c + banks) * size + i), k.
    split; [nia|]. split; [|split].
    + rewrite !counter_of_event by auto. f_equal. f_equal. rewrite <- (Nat.mul_1_l banks) at 1. apply Nat.mod_add. lia.
    + rewrite !generation_of_event by auto. rewrite <- (Nat.mul_1_l banks) at 1. rewrite Nat.div_add by lia. lia.
    + apply in_waits; auto; [lia|]. exists e, d. repeat split; auto; [lia|]. f_equal. f_equal. lia.
Qed.

(** * The theorem *)
Hypothesis slots_return : banks_return period window.
Hypothesis fewer_verified : forall n, n < window ->
  verify (copies n) (order_of n) (queues_of n) (run_lengths n) = true /\
  verify_wrap (copies n) (order_of n) (queues_of n) (n * events) counter_of generation_of = true.

Theorem window_proves_all n : safe (shared (copies n) (n * events) counter_of generation_of).
Proof.
  pose proof some_banks as B. destruct (le_lt_dec window n) as [Wn|Few].
  - apply (wrap_law_sound _ (order_of n) (queues_of n)).
    + apply (order_verified _ _ _ _ _ _ _ _ schedule_checked window numbers_checked run_lengths window_verified). lia.
    + now apply window_wraps_all_copies.
    + apply (window_proves_all_copies _ _ _ _ own_order _ _ queue_of_task schedule_checked window numbers_checked
               run_lengths window_verified slots_return); [|lia]. intros m M. now apply fewer_verified.
  - destruct (fewer_verified n Few) as [V Wr]. exact (verify_wrap_sound _ _ _ _ _ _ _ V Wr).
Qed.
End Periodic.

Print Assumptions window_wraps_all_copies.
Print Assumptions window_proves_all.

(** * The period of periods.v with two counters for each event *)
Definition two_counters (event_banks : nat) : bool :=
  verify_window_wrap (producer_and_consumer 2) 2 1 (fun _ => 0) [0; 1] [[0]; [1]] [0; 1] (fun t => t) event_banks 3.
Compute two_counters 2.
Compute two_counters 1.
Example every_number_is_safe_with_two_counters n :
  safe (shared (copies (producer_and_consumer 2) 2 1 (fun _ => 0) [[0]; [1]] [0; 1] n) (n * 2)
          (counter_of 2 2) (generation_of 2 2)).
Proof.
  apply window_proves_all with (own_order := [0; 1]) (queue_of_task := fun t => t) (window := 3)
    (run_lengths := fun n => repeat 1 (2 * n)); try reflexivity.
  - apply banks_come_back. exists (fun _ => 2), (fun _ => 0), (fun _ => 0). split; [|auto].
    intros u [<-|[<-|[]]]; simpl; split; auto; lia.
  - intros [|[|[|m]]] L; try (split; reflexivity). lia.
Qed.
