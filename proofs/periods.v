(* SPDX-License-Identifier: Apache-2.0 *)
(* Periods: a window of copies proves every number of copies.

   Parts (1) and (2) of include/hyperparallel/taskflow/periodic_verify.hpp, for copies with events of their own. A
   period is written once; its schedule is a software pipeline, see periodic_schedule.hpp. A run of many copies, seen
   through a window of a few copies next to each other, is a run of these few. So what follows in the window follows
   wherever the window is put; and conflicts of copies further apart follow by way of copies between them.

   The theorem asks [verify] for the window and for all fewer copies; the C++ asks it for the window alone. *)
From Coq Require Import List Arith Lia Bool Wf_nat.
From hyperparallel Require Import model exact verify.
Import ListNotations.

(** * A period, and the plan of a number of copies *)

(** An access of the slot [in_copy c] in copy [c]. *)
Record carried_access := Carried_access { in_copy : nat -> nat; from_unit : nat; past_unit : nat; overwrites : bool }.
(** A wait [(e, d, k)] is for the k-th signal of event [e] of [d] copies before; there is none in the first copies. *)
Record period_task := Period_task {
  own_pool : nat; carried_waits : list (nat * nat * nat); own_signals : list nat; own_accesses : list carried_access }.

Section Periods.
Variable period : list period_task.
(** The number of events of a copy. *)
Variable events : nat.
(** An iteration runs one copy of each task, that of task [i] being [stage i] copies behind, in this order. *)
Variable stages : nat.
Variable stage : nat -> nat.
Variable own_order : list nat.
Variable own_queues : list (list nat).
Variable own_pools : list nat.
Variable queue_of_task : nat -> nat.

Notation size := (length period).
Definition nothing := Period_task 0 [] [] [].
Definition waits_in c (w : nat * nat * nat) : list (nat * nat) :=
  let '(e, d, k) := w in if d <=? c then [((c - d) * events + e, k)] else [].
Definition access_in c (u : carried_access) := Access (in_copy u c) (from_unit u) (past_unit u) (overwrites u).
Definition task_in c (k : period_task) : task :=
  Task (own_pool k) (flat_map (waits_in c) (carried_waits k)) (map (fun e => c * events + e) (own_signals k))
    (map (access_in c) (own_accesses k)).
(** The tasks of [l] in iteration [i] of [n] copies; task [t] of copy [c] is task [c * size + t]. *)
Definition placed n i t : list nat :=
  if (stage t <=? i) && (i - stage t <? n) then [(i - stage t) * size + t] else [].
Definition expand n (l : list nat) : list nat := flat_map (fun i => flat_map (placed n i) l) (seq 0 (n + stages - 1)).
Definition copies n : plan :=
  Plan (map (fun t => task_in (t / size) (nth (t mod size) period nothing)) (seq 0 (n * size)))
    (map (expand n) own_queues) own_pools.
Definition order_of n := expand n own_order.
Definition queues_of n := map (fun t => queue_of_task (t mod size)) (seq 0 (n * size)).

(** * What is asked of a period *)
Definition check_schedule : bool :=
  distinct own_order && forallb (fun t => (t <? size) && (stage t <? stages)) own_order &&
  forallb (fun t => mem t own_order && (queue_of_task t <? length own_queues)) (seq 0 size) &&
  (if list_eq_dec (list_eq_dec Nat.eq_dec) own_queues
        (map (fun q => filter (fun t => queue_of_task t =? q) own_order) (seq 0 (length own_queues)))
          then true else false).
Definition check_numbers window : bool :=
  forallb (fun k => forallb (fun e => e <? events) (own_signals k) &&
                    forallb (fun w => (fst (fst w) <? events) && (snd (fst w) <? window)) (carried_waits k)) period.
(** Accesses that meet in two copies meet wherever both are moved by as many copies, and each comes back to its slot
    after fewer copies than the window has. *)
Definition banks_return window : Prop :=
  forall u v c c', In u (flat_map own_accesses period) -> In v (flat_map own_accesses period) ->
    (forall j, in_copy u (c + j) = in_copy v (c' + j) <-> in_copy u c = in_copy v c') /\
    (in_copy u c = in_copy v c' -> exists b, 0 < b < window /\
       (forall x, in_copy u (x + b) = in_copy u x) /\ forall x, in_copy v (x + b) = in_copy v x).

(** * Proof *)
Hypothesis schedule_checked : check_schedule = true.

Lemma schedule_facts :
  NoDup own_order /\ (forall t, In t own_order <-> t < size) /\ (forall t, t < size -> stage t < stages) /\
  (forall t, t < size -> queue_of_task t < length own_queues) /\
  own_queues = map (fun q => filter (fun t => queue_of_task t =? q) own_order) (seq 0 (length own_queues)).
Proof.
  unfold check_schedule in schedule_checked. rewrite !andb_true_iff, !forallb_forall in schedule_checked.
  destruct schedule_checked as (((D & F) & G) & Q).
  assert (forall t, In t own_order <-> t < size) as All.
  { intros t. split; intros I.
    - specialize (F t I). rewrite andb_true_iff, Nat.ltb_lt in F. easy.
    - specialize (G t). rewrite in_seq, andb_true_iff, mem_In in G. apply G. lia. }
  split; [now apply distinct_iff|]. split; [exact All|]. split; [|split].
  - intros t T. apply All, F in T. rewrite andb_true_iff, !Nat.ltb_lt in T. easy.
  - intros t T. specialize (G t). rewrite in_seq, andb_true_iff, Nat.ltb_lt in G. apply G. lia.
  - destruct (list_eq_dec _ _ _); [easy|discriminate].
Qed.

(** ** Numbers of tasks *)
Lemma one_number c t c' t' : t < size -> t' < size -> c * size + t = c' * size + t' -> c = c' /\ t = t'.
Proof.
  clear. intros T T' E. assert (c = c') as ->; [|lia]. destruct (lt_eq_lt_dec c c') as [[|]|]; auto; exfalso; nia.
Qed.
Lemma number_mod c t : t < size -> (c * size + t) mod size = t.
Proof. clear. intros T. rewrite Nat.add_comm, Nat.mod_add by lia. now apply Nat.mod_small. Qed.
Lemma number_div c t : t < size -> (c * size + t) / size = c.
Proof. clear. intros T. rewrite Nat.div_add_l, (Nat.div_small t) by lia. lia. Qed.
Lemma number_of n t : t < n * size -> exists c i, c < n /\ i < size /\ t = c * size + i.
Proof.
  clear. intros T. assert (size <> 0) as N by nia. exists (t / size), (t mod size).
  split; [now apply Nat.div_lt_upper_bound; lia|]. split; [now apply Nat.mod_upper_bound|].
  rewrite Nat.mul_comm. now apply Nat.div_mod.
Qed.

Lemma seq_from b n : forall a, seq (b + a) n = map (fun t => b + t) (seq a n).
Proof. clear. induction n as [|n IH]; intros a; simpl; auto. now rewrite <- IH, Nat.add_succ_r. Qed.

Lemma size_copies n : model.size (copies n) = n * size.
Proof. unfold model.size. simpl. now rewrite map_length, seq_length. Qed.
Lemma task_copies n c t : c < n -> t < size -> task_at (copies n) (c * size + t) = task_in c (nth t period nothing).
Proof.
  clear. intros C T. unfold task_at. simpl. set (f := fun t => task_in (t / size) (nth (t mod size) period nothing)).
  rewrite nth_indep with (d' := f 0) by (rewrite map_length, seq_length; nia).
  rewrite map_nth, seq_nth by nia. unfold f. simpl. now rewrite number_div, number_mod.
Qed.

(** ** Places in an expansion *)
Lemma before_rows f a b k : forall s, before a b (flat_map f (seq s k)) <->
  (exists i j, s <= i < j /\ j < s + k /\ In a (f i) /\ In b (f j)) \/ (exists i, s <= i < s + k /\ before a b (f i)).
Proof.
  clear. induction k as [|k IH]; intros s; simpl.
  - split; [intros ([|] & y & z & E); discriminate|]. intros [(i & j & ? & ? & _)|(i & ? & _)]; lia.
  - rewrite before_app, IH. split.
    + intros [B|[[A B]|[(i & j & ? & ? & H)|(i & ? & H)]]].
      * right. exists s. split; [lia|easy].
      * apply in_flat_map in B as (j & J & B). apply in_seq in J. left. exists s, j. repeat split; auto; lia.
      * left. exists i, j. repeat split; try easy; lia.
      * right. exists i. split; [lia|easy].
    + intros [(i & j & ? & ? & A & B)|(i & ? & H)].
      * destruct (Nat.eq_dec i s) as [->|].
        -- right. left. split; auto. apply in_flat_map. exists j. split; auto. apply in_seq. lia.
        -- right. right. left. exists i, j. repeat split; auto; lia.
      * destruct (Nat.eq_dec i s) as [->|]; auto. right. right. right. exists i. split; auto. lia.
Qed.

Lemma in_placed n i t c t' : t < size -> t' < size ->
  (In (c * size + t') (placed n i t) <-> t = t' /\ i = c + stage t /\ c < n).
Proof.
  clear. intros T T'. unfold placed. destruct (Nat.leb_spec (stage t) i); simpl; [|split; [easy|lia]].
  destruct (Nat.ltb_spec (i - stage t) n); simpl; [|split; [easy|intros (-> & ? & ?); lia]]. split.
  - intros [E|[]]. apply one_number in E as [<- <-]; auto. repeat split; auto; lia.
  - intros (-> & -> & L). left. f_equal. f_equal. lia.
Qed.

Lemma in_row n i l c t : (forall x, In x l -> x < size) -> t < size ->
  (In (c * size + t) (flat_map (placed n i) l) <-> In t l /\ i = c + stage t /\ c < n).
Proof.
  clear. intros L T. rewrite in_flat_map. split.
  - intros (x & X & I). apply in_placed in I as (-> & H); auto.
  - intros (I & H). exists t. split; auto. now apply in_placed.
Qed.

Lemma before_row n i l c t c' t' : (forall x, In x l -> x < size) -> t < size -> t' < size ->
  (before (c * size + t) (c' * size + t') (flat_map (placed n i) l) <->
   before t t' l /\ i = c + stage t /\ i = c' + stage t' /\ c < n /\ c' < n).
Proof.
  clear. intros L T T'. induction l as [|h l IH]; simpl.
  - split; [|intros [B _]]; [intros ([|] & y & z & E); discriminate|]. destruct B as ([|] & y & z & E); discriminate.
  - assert (h < size) as Hh by (apply L; now left).
    assert (forall x, In x l -> x < size) as Ll by (intros; apply L; now right).
    rewrite before_app, before_cons, IH, in_row, in_placed by auto.
    assert (before (c * size + t) (c' * size + t') (placed n i h) <-> False) as ->.
    { unfold placed. destruct (_ && _); split; try easy; intros ([|? [|]] & y & z & E); try discriminate;
        injection E as _ E; try (now destruct y); now destruct l. }
    intuition (subst; auto).
Qed.

Lemma in_expand n l c t : (forall x, In x l -> x < size /\ stage x < stages) -> t < size ->
  (In (c * size + t) (expand n l) <-> In t l /\ c < n).
Proof.
  clear. intros L T. unfold expand. rewrite in_flat_map. split.
  - intros (i & _ & I). apply in_row in I as (I & _ & C); auto. intros x X. now apply L.
  - intros (I & C). exists (c + stage t). split; [|apply in_row; auto; intros x X; now apply L].
    apply in_seq. destruct (L t I). lia.
Qed.

Lemma before_expand n l c t c' t' : (forall x, In x l -> x < size /\ stage x < stages) -> t < size -> t' < size ->
  (before (c * size + t) (c' * size + t') (expand n l) <->
   In t l /\ In t' l /\ c < n /\ c' < n /\
   (c + stage t < c' + stage t' \/ c + stage t = c' + stage t' /\ before t t' l)).
Proof.
  clear. intros L T T'. unfold expand. rewrite before_rows. assert (forall x, In x l -> x < size) as L' by (intros x X;
    destruct (L x X); auto).
  split.
  - intros [(i & j & ? & ? & A & B)|(i & ? & B)].
    + apply in_row in A as (? & ? & ?), B as (? & ? & ?); auto. repeat split; auto. left. lia.
    + apply before_row in B as (B & ? & ? & ? & ?); auto. destruct B as (x & y & z & ->).
      repeat split; auto; try (apply in_app_iff; simpl; rewrite ?in_app_iff; simpl; auto; fail).
      right. split; [lia|]. now exists x, y, z.
  - intros (I & I' & C & C' & [K|[K B]]).
    + left. exists (c + stage t), (c' + stage t'). destruct (L t' I').
      rewrite !in_row by auto. repeat split; auto; lia.
    + right. exists (c + stage t). destruct (L t I). rewrite before_row by auto. repeat split; auto; lia.
Qed.

Lemma never_before_itself (l : list nat) : NoDup l <-> forall a, ~ before a a l.
Proof.
  clear. induction l as [|h l IH].
  - split; [intros _ a ([|] & y & z & E); discriminate|constructor].
  - split.
    + intros H a B. inversion_clear H as [|? ? N ND]. apply before_cons in B as [[-> I]|B]; auto.
      now apply (proj1 IH ND a).
    + intros H. constructor.
      * intros I. apply (H h). apply before_cons. auto.
      * apply IH. intros a B. apply (H a). apply before_cons. auto.
Qed.

Lemma own_order_inside x : In x own_order -> x < size /\ stage x < stages.
Proof. destruct schedule_facts as (_ & All & St & _). intros I. apply All in I. auto. Qed.

Lemma order_is_simple n : NoDup (order_of n).
Proof.
  apply never_before_itself. intros a B. destruct (before_in _ _ _ B) as [I _].
  assert (exists c t, t < size /\ a = c * size + t) as (c & t & T & ->).
  { unfold order_of, expand in I. apply in_flat_map in I as (i & _ & I). apply in_flat_map in I as (t & T & I).
    apply own_order_inside in T as [T _]. unfold placed in I. destruct (_ && _); [|easy]. destruct I as [<-|[]]. eauto.
      }
  apply before_expand in B; auto using own_order_inside. destruct B as (_ & _ & _ & _ & [K|[_ B]]); [lia|].
  destruct schedule_facts as (ND & _). now apply (proj1 (never_before_itself own_order) ND t).
Qed.

(** ** Counters: events of a copy are signalled by that copy alone *)
Section Window.
Variable window : nat.
Hypothesis numbers_checked : check_numbers window = true.

Lemma number_facts t : t < size ->
  (forall e, In e (own_signals (nth t period nothing)) -> e < events) /\
  (forall e d k, In (e, d, k) (carried_waits (nth t period nothing)) -> e < events /\ d < window).
Proof.
  intros T. unfold check_numbers in numbers_checked. rewrite forallb_forall in numbers_checked.
  specialize (numbers_checked _ (nth_In _ nothing T)). rewrite andb_true_iff, !forallb_forall in numbers_checked.
  destruct numbers_checked as [S Wt]. split.
  - intros e I. now apply Nat.ltb_lt, S.
  - intros e d k I. specialize (Wt _ I). simpl in Wt. now rewrite andb_true_iff, !Nat.ltb_lt in Wt.
Qed.

Lemma signals_copies n c t c' e : c < n -> t < size -> e < events ->
  signals_of (copies n) (c' * events + e) (c * size + t) =
  if c =? c' then count_occ Nat.eq_dec (own_signals (nth t period nothing)) e else 0.
Proof.
  intros C T E. unfold signals_of. rewrite task_copies by auto. simpl. destruct (number_facts t T) as [S _].
  induction (own_signals (nth t period nothing)) as [|h l IH]; simpl; [now destruct (c =? c')|].
  assert (h < events) as H by (apply S; now left). rewrite IH by (intros; apply S; now right).
  destruct (Nat.eq_dec (c * events + h) (c' * events + e)) as [Q|Q], (Nat.eqb_spec c c') as [->|N],
    (Nat.eq_dec h e) as [->|D]; try lia; exfalso; [|nia].
  destruct (lt_eq_lt_dec c c') as [[|]|]; [nia|easy|nia].
Qed.

Lemma signalled_copies n who c e : c < n -> e < events ->
  signalled (copies n) who (c * events + e) =
  list_sum (map (fun t => if who (c * size + t) then count_occ Nat.eq_dec (own_signals (nth t period nothing)) e else 0)
              (seq 0 size)).
Proof.
  intros C E. unfold signalled. rewrite size_copies.
  assert (forall k, k <= n ->
    list_sum (map (fun t => if who t then signals_of (copies n) (c * events + e) t else 0) (seq 0 (k * size))) =
    if c <? k then list_sum (map (fun t => if who (c * size + t)
                        then count_occ Nat.eq_dec (own_signals (nth t period nothing)) e else 0) (seq 0 size)) else 0)
                          as Sum.
  { induction k as [|k IH]; intros K; simpl; auto.
    rewrite (Nat.add_comm size), seq_app, map_app, list_sum_app, IH by lia. simpl.
    assert (list_sum (map (fun t => if who t then signals_of (copies n) (c * events + e) t else 0) (seq (k * size)
      size)) =
            list_sum (map (fun t => if who (k * size + t) then
                (if k =? c then count_occ Nat.eq_dec (own_signals (nth t period nothing)) e else 0) else 0) (seq 0
                  size)))
      as ->.
    { rewrite <- (Nat.add_0_r (k * size)) at 1. rewrite seq_from, map_map. f_equal. apply map_ext_in. intros t I.
      apply in_seq in I. rewrite signals_copies by lia. reflexivity. }
    destruct (Nat.eqb_spec k c) as [->|N].
    - rewrite (proj2 (Nat.ltb_ge c c)), (proj2 (Nat.ltb_lt c (S c))) by lia. lia.
    - assert (list_sum (map (fun t => if who (k * size + t) then 0 else 0) (seq 0 size)) = 0) as ->.
      { clear. induction (seq 0 size) as [|h l IHl]; simpl; auto. now destruct (who (k * size + h)). }
      destruct (Nat.ltb_spec c k), (Nat.ltb_spec c (S k)); lia. }
  rewrite Sum by auto. now rewrite (proj2 (Nat.ltb_lt c n)).
Qed.

(** The waits of a task, copy by copy. *)
Lemma in_waits n c t e' k : c < n -> t < size ->
  (In (e', k) (waits (task_at (copies n) (c * size + t))) <->
   exists e d, In (e, d, k) (carried_waits (nth t period nothing)) /\ d <= c /\ e' = (c - d) * events + e).
Proof.
  intros C T. rewrite task_copies by auto. simpl. rewrite in_flat_map. split.
  - intros ([[e d] k'] & I & J). unfold waits_in in J. destruct (Nat.leb_spec d c); [|easy].
    destruct J as [J|[]]. injection J as <- <-. eauto.
  - intros (e & d & I & D & ->). exists (e, d, k). split; auto. unfold waits_in.
    rewrite (proj2 (Nat.leb_le d c)) by auto. now left.
Qed.

(** ** What is verified of the window *)
Variable run_lengths : nat -> list nat.
Hypothesis window_verified : verify (copies window) (order_of window) (queues_of window) (run_lengths window) = true.

Lemma window_order : verify_order (copies window) (order_of window) (queues_of window) = true.
Proof. unfold verify in window_verified. now rewrite !andb_true_iff in window_verified. Qed.

(** Part (1): what holds of order in the window holds in all copies. *)
Lemma wait_satisfied n c t x y e' k :
  c < n -> t < size -> order_of n = x ++ (c * size + t) :: y ->
    In (e', k) (waits (task_at (copies n) (c * size + t))) ->
  1 <= k <= signalled (copies n) (fun a => mem a x) e'.
Proof.
  intros C T E I. apply in_waits in I as (e & d & I & D & ->); auto. destruct (number_facts t T) as [_ Nf].
  destruct (Nf e d k I) as [Le Ld]. pose proof window_order as O.
  destruct (order_facts _ _ _ O) as (ND & All & _ & _ & R). rewrite size_copies in All.
  assert (In (d * size + t) (order_of window)) as Io by (apply All; nia). apply in_split in Io as (x' & y' & E').
  assert (In (0 * events + e, k) (waits (task_at (copies window) (d * size + t)))) as I'.
  { apply in_waits; auto. exists e, d. repeat split; auto. f_equal. f_equal. lia. }
  destruct (satisfied_waits _ _ _ _ _ _ R E' _ _ I') as [K S]. rewrite app_nil_r in S. split; auto.
  eapply Nat.le_trans; [exact S|]. rewrite !signalled_copies by lia. apply sum_le. intros u U. apply in_seq in U.
  destruct (mem (0 * size + u) x') eqn:M; [|lia]. apply mem_In in M.
  assert (In ((c - d) * size + u) x) as M'; [|apply mem_In in M'; rewrite M'; lia].
  assert (NoDup (x ++ (c * size + t) :: y)) as ND' by (rewrite <- E; apply order_is_simple).
  apply (split_in x y (c * size + t)); auto. rewrite <- E.
  apply (in_split_before _ y' (d * size + t)) in M. rewrite <- E' in M. unfold order_of in *.
  apply before_expand in M; auto using own_order_inside; [|lia]. apply before_expand; auto using own_order_inside;
    [lia|].
  destruct M as (? & ? & ? & ? & M). repeat split; auto; [lia|]. destruct M as [M|[M B]]; [left|right; split; auto];
    lia.
Qed.

Lemma waits_satisfied_by_splits p l : forall done,
  (forall x t y, l = x ++ t :: y -> forall e k, In (e, k) (waits (task_at p t)) ->
     1 <= k <= signalled p (fun a => mem a (rev x ++ done)) e) -> waits_satisfied p done l = true.
Proof.
  clear. induction l as [|h l IH]; intros done H; cbn [waits_satisfied]; auto. apply andb_true_iff. split.
  - apply forallb_forall. intros [e k] I. cbn [fst snd]. rewrite andb_true_iff, !Nat.leb_le.
    now apply (H [] h l eq_refl).
  - apply IH. intros x t y -> e k I. specialize (H (h :: x) t y eq_refl e k I). simpl in H.
    now rewrite <- app_assoc in H.
Qed.

Lemma filter_expand n f l : (forall x, In x l -> x < size) ->
  expand n (filter f l) = filter (fun a => f (a mod size)) (expand n l).
Proof.
  clear. intros L. unfold expand. induction (seq 0 (n + stages - 1)) as [|i r IH]; simpl; auto.
  rewrite filter_app, IH. f_equal. clear IH. induction l as [|h l IH]; simpl; auto.
  rewrite filter_app, <- IH by (intros; apply L; now right). destruct (f h) eqn:F; simpl.
  - f_equal. unfold placed. destruct (_ && _); simpl; auto. now rewrite number_mod, F by (apply L; now left).
  - unfold placed. destruct (_ && _); simpl; auto. now rewrite number_mod, F by (apply L; now left).
Qed.

Lemma order_verified n : 0 < window -> verify_order (copies n) (order_of n) (queues_of n) = true.
Proof.
  intros Wp. destruct schedule_facts as (ND & All & St & Qu & Qs). unfold verify_order.
  assert (forall a, In a (order_of n) <-> a < n * size) as In_order.
  { intros a. split; intros I.
    - unfold order_of, expand in I. apply in_flat_map in I as (i & _ & I). apply in_flat_map in I as (t & T & I).
      apply own_order_inside in T as [T _]. unfold placed in I. destruct (_ && _) eqn:B; [|easy]. destruct I as [<-|[]].
      rewrite andb_true_iff, Nat.ltb_lt in B. nia.
    - apply number_of in I as (c & t & C & T & ->). apply in_expand; auto using own_order_inside. now rewrite All. }
  assert (forall a, a < n * size -> queue_of (copies n) (queues_of n) a = queue_of_task (a mod size)) as Qn.
  { intros a A. unfold queue_of, queues_of. set (f := fun t => queue_of_task (t mod size)).
    rewrite nth_indep with (d' := f 0) by now rewrite map_length, seq_length. now rewrite map_nth, seq_nth. }
  rewrite !andb_true_iff, !forallb_forall, size_copies. repeat split.
  - apply distinct_iff, order_is_simple.
  - intros a I. apply In_order in I. rewrite Qn by auto. apply number_of in I as (c & t & C & T & ->).
    rewrite number_mod, !andb_true_iff, !Nat.ltb_lt by auto. simpl. rewrite map_length. repeat split; [nia|auto|].
    (* the pool is that of the window's first copy *)
    pose proof window_order as O. unfold verify_order in O. rewrite !andb_true_iff, !forallb_forall in O.
    destruct O as ((((_ & F) & G) & _) & _).
    assert (In (0 * size + t) (order_of window)) as It by (apply in_expand; auto using own_order_inside;
      now rewrite All).
    specialize (F _ It). rewrite !andb_true_iff in F. destruct F as [_ F]. unfold is_in_pool in *.
    rewrite task_copies in * by auto.
      unfold queue_of, queues_of in F. set (f := fun t => queue_of_task (t mod size)) in *.
    rewrite nth_indep with (d' := f 0) in F by (rewrite map_length, seq_length; nia).
    rewrite map_nth, seq_nth in F by nia. unfold f in F. simpl in F. rewrite Nat.mod_small in F by auto. exact F.
  - intros a I. apply mem_In, In_order. apply in_seq in I. lia.
  - destruct (list_eq_dec _ _ _) as [|N]; [easy|exfalso; apply N]. simpl. rewrite map_length.
    rewrite Qs at 1. rewrite map_map. apply map_ext. intros q.
    rewrite filter_expand by (intros x X; now apply own_order_inside). apply filter_ext_in. intros a I.
    now rewrite Qn by now apply In_order.
  - apply waits_satisfied_by_splits. intros x a y E e k I. rewrite app_nil_r.
    assert (In a (order_of n)) as A by (rewrite E; apply in_elt). apply In_order, number_of in A as (c & t & C & T & ->)
      .
    destruct (wait_satisfied n c t x y e k C T E I) as [K S]. split; auto. eapply Nat.le_trans; [exact S|].
    apply signalled_le. intros b _ _ M. apply mem_In. apply mem_In in M. now apply in_rev in M.
Qed.

(** ** Part (2): a run, seen through a window, is a run of the window *)
Definition seen j (l : list nat) : list nat :=
  map (fun t => t - j * size) (filter (fun t => (j * size <=? t) && (t <? (j + window) * size)) l).
Lemma in_seen j l a : In a (seen j l) <-> a < window * size /\ In (a + j * size) l.
Proof.
  clear. unfold seen. rewrite in_map_iff. split.
  - intros (t & <- & I). apply filter_In in I as [I B]. rewrite andb_true_iff, Nat.leb_le, Nat.ltb_lt in B.
    split; [nia|]. now replace (t - j * size + j * size) with t by lia.
  - intros (A & I). exists (a + j * size). split; [lia|]. apply filter_In. split; auto.
    rewrite andb_true_iff, Nat.leb_le, Nat.ltb_lt. nia.
Qed.

Lemma seen_through_window n j s : j + window <= n -> reachable (copies n) s ->
  reachable (copies window) (State (seen j (begun s)) (seen j (ended s))).
Proof.
  intros J. induction 1 as [|s s' R IH St]; [constructor|].
  assert (forall t l, t < j * size \/ (j + window) * size <= t -> seen j (t :: l) = seen j l) as Out.
  { clear. intros t l H. unfold seen. simpl.
    destruct (Nat.leb_spec (j * size) t), (Nat.ltb_spec t ((j + window) * size));
      simpl; auto; lia. }
  assert (forall t l, t < window * size -> seen j (t + j * size :: l) = t :: seen j l) as In_window.
  { clear. intros t l H. unfold seen. simpl. rewrite (proj2 (Nat.leb_le _ _)), (proj2 (Nat.ltb_lt _ _)) by nia. simpl.
    f_equal. lia. }
  assert (forall t, t < j * size \/ (j + window) * size <= t \/ exists t', t = t' + j * size /\ t' < window * size)
    as Cases.
  { clear. intros t. destruct (le_lt_dec (j * size) t), (le_lt_dec ((j + window) * size) t); auto.
    right. right. exists (t - j * size). nia. }
  inversion St; subst; simpl in *; destruct (Cases t) as [Lo|[Hi|(t' & -> & T')]]; try (rewrite Out by auto; exact IH);
    rewrite In_window by auto; apply next with (1 := IH).
  - constructor.
    + now rewrite size_copies.
    + destruct (order_facts _ _ _ window_order) as (_ & All & In_range & Q & _). rewrite size_copies in All.
      rewrite Q. apply in_concat. exists (filter (fun a => queue_of (copies window) (queues_of window) a =?
                                               queue_of (copies window) (queues_of window) t') (order_of window)).
      apply All in T'. split; [|apply filter_In; now rewrite Nat.eqb_refl].
      apply in_map_iff. eexists. split; [reflexivity|]. apply in_seq. specialize (In_range t' T'). simpl in *. lia.
    + intros I. apply in_seen in I as [_ I]. easy.
    + intros q a Iq Ba. simpl in Iq. apply in_map_iff in Iq as (l & <- & Il).
      assert (forall x, In x l -> x < size /\ stage x < stages) as Ll.
      { destruct schedule_facts as (_ & _ & _ & _ & Qs). rewrite Qs in Il. apply in_map_iff in Il as (i & <- & _).
        intros x X. apply filter_In in X as [X _]. now apply own_order_inside. }
      assert (exists c i, i < size /\ a = c * size + i) as (c & i & Ti & ->).
      { destruct (before_in _ _ _ Ba) as [I _]. unfold expand in I. apply in_flat_map in I as (r & _ & I).
        apply in_flat_map in I as (i & Ii & I). apply Ll in Ii as [Ii _]. unfold placed in I.
        destruct (_ && _); [|easy]. destruct I as [<-|[]]. eauto. }
      destruct (number_of window t' T') as (c' & i' & C' & I' & ->).
      apply before_expand in Ba as (A & A' & Cw & _ & K); auto. apply in_seen. split; [nia|].
      match goal with H : forall q a, In q _ -> _ |- _ => apply (H (expand n l)) end; [apply in_map_iff; eauto|].
      replace (c * size + i + j * size) with ((c + j) * size + i) by lia.
      replace (c' * size + i' + j * size) with ((c' + j) * size + i') by lia.
      apply before_expand; auto. repeat split; auto; try lia. destruct K as [K|[K B']]; [left; lia|right; split;
        [lia|auto]].
    + intros e' k I. destruct (number_of window t' T') as (c & i & C & Ti & ->).
      apply in_waits in I as (e & d & I & D & ->); auto. destruct (number_facts i Ti) as [_ Nf].
      destruct (Nf e d k I) as [Le Ld].
      match goal with H : forall e k, In (e, k) _ -> _ |- _ => specialize (H ((c + j - d) * events + e) k) end.
      rewrite signalled_copies in * by lia.
      replace (c * size + i + j * size) with ((c + j) * size + i) in * by lia.
      eapply Nat.le_trans.
      * match goal with H : In _ _ -> k <= _ |- _ => apply H end. apply in_waits; [lia|auto|]. exists e, d.
        repeat split; auto. lia.
      * apply sum_le. intros u U. apply in_seq in U.
        destruct (mem ((c + j - d) * size + u) E) eqn:M; [|lia]. apply mem_In in M.
        assert (In ((c - d) * size + u) (seen j E)) as M'; [|apply mem_In in M'; rewrite M'; lia].
        apply in_seen. split; [nia|]. now replace ((c - d) * size + u + j * size) with ((c + j - d) * size + u) by nia.
  - constructor; [apply in_seen; auto|]. intros I. apply in_seen in I as [_ I]. easy.
Qed.

Lemma window_follows n j a b : j + window <= n -> a < window * size -> b < window * size ->
  follows (copies window) b a -> follows (copies n) (b + j * size) (a + j * size).
Proof.
  intros J A B F s R I. specialize (F _ (seen_through_window n j s J R)). simpl in F.
  assert (In b (seen j (begun s))) as Ib by now apply in_seen. apply F, in_seen in Ib. easy.
Qed.

Hypothesis banks : banks_return window.

Lemma accesses_copies n c t u : c < n -> t < size ->
  (In u (accesses (task_at (copies n) (c * size + t))) <->
   exists v, In v (own_accesses (nth t period nothing)) /\ u = access_in c v).
Proof.
  intros C T. rewrite task_copies by auto. simpl. rewrite in_map_iff. split; intros (v & H); exists v; intuition.
Qed.
Lemma of_period t v : t < size -> In v (own_accesses (nth t period nothing)) -> In v (flat_map own_accesses period).
Proof. intros T I. apply in_flat_map. exists (nth t period nothing). split; auto. now apply nth_In. Qed.

(** Two accesses that meet, in copies [c] and [c + k]: by a window that has both, or by way of a copy between them. *)
Lemma meeting_follows n k : forall c i i' u v y,
  window <= n -> c + k < n -> i < size -> i' < size -> (0 < k \/ i < i') ->
  In u (own_accesses (nth i period nothing)) -> In v (own_accesses (nth i' period nothing)) ->
  in_copy u c = in_copy v (c + k) -> from_unit u <= y < past_unit u -> from_unit v <= y < past_unit v ->
  overwrites u || overwrites v = true -> follows (copies n) ((c + k) * size + i') (c * size + i).
Proof.
  induction k as [k IH] using lt_wf_ind. intros c i i' u v y Wn Kn Ti Ti' Lt U V M Yu Yv Wr.
  pose proof (of_period i u Ti U) as Pu. pose proof (of_period i' v Ti' V) as Pv.
  destruct (le_lt_dec window k) as [Far|Near].
  - destruct (banks u v c (c + k) Pu Pv) as [_ Back]. destruct (Back M) as (b & B & Ru & Rv).
    destruct (overwrites u) eqn:Wu.
    + assert (follows (copies n) ((c + b) * size + i) (c * size + i)) as F1
        by (apply (IH b) with (u := u) (v := u) (y := y); auto; try lia; try (now rewrite Ru); now rewrite Wu).
      assert (follows (copies n) ((c + b + (k - b)) * size + i') ((c + b) * size + i)) as F2.
      { apply (IH (k - b)) with (u := u) (v := v) (y := y); auto; try lia; try (now rewrite Wu).
        replace (c + b + (k - b)) with (c + k) by lia. now rewrite Ru. }
      replace (c + b + (k - b)) with (c + k) in F2 by lia. eapply follows_trans; eauto.
    + simpl in Wr. assert (follows (copies n) ((c + (k - b)) * size + i') (c * size + i)) as F1.
      { apply (IH (k - b)) with (u := u) (v := v) (y := y); auto; try lia; try (now rewrite Wr, orb_true_r).
        rewrite M. rewrite <- (Rv (c + (k - b))). f_equal. lia. }
      assert (follows (copies n) ((c + (k - b) + b) * size + i') ((c + (k - b)) * size + i')) as F2.
      { apply (IH b) with (u := v) (v := v) (y := y); auto; try lia; try (now rewrite Rv); now rewrite Wr. }
      replace (c + (k - b) + b) with (c + k) in F2 by lia. eapply follows_trans; eauto.
  - assert (exists a j, c = a + j /\ a + k < window /\ j + window <= n) as (a & j & -> & A & J)
      by (exists (c - min c (n - window)), (min c (n - window)); lia).
    replace ((a + j + k) * size + i') with (((a + k) * size + i') + j * size) by lia.
    replace ((a + j) * size + i) with ((a * size + i) + j * size) by lia.
    apply window_follows; [exact J|nia|nia|].
    pose proof window_verified as Vw. unfold verify in Vw. rewrite !andb_true_iff in Vw. destruct Vw as [[[O P] R] Vc].
    apply (accepted_ordered _ _ _ _ O P R Vc); [rewrite size_copies; split; [destruct Lt; nia|nia]|].
    exists (access_in a u), (access_in (a + k) v). split; [apply accesses_copies; [lia|auto|eauto]|].
    split; [apply accesses_copies; [lia|auto|eauto]|]. split; [|exact Wr]. split; [|exists y; auto]. simpl.
    destruct (banks u v a (a + k) Pu Pv) as [Moved _]. apply (Moved j). replace (a + k + j) with (a + j + k) by lia.
      exact M.
Qed.

(** * The theorem: what verify accepts of a window, and of fewer copies, is safe for every number of copies *)
Hypothesis fewer_verified : forall n, n < window -> verify (copies n) (order_of n) (queues_of n) (run_lengths n) = true.

Theorem window_proves_all_copies n : 0 < window -> safe (copies n).
Proof.
  intros Wp. destruct (le_lt_dec window n) as [Wn|Few]; [|apply (verify_sound _ _ _ _ (fewer_verified n Few))].
  pose proof (order_verified n Wp) as O. split; [apply runs_once|]. split; [now apply (accepted_placed _ _ _ O)|].
  split; [now apply (accepted_completes _ _ _ O)|]. apply no_race_iff. rewrite size_copies. intros a b [L B] C.
  apply number_of in B as (c' & i' & C' & I' & ->). assert (a < n * size) as A by nia.
  apply number_of in A as (c & i & Cn & I & ->).
  destruct C as (u & v & U & V & (S & y & Yu & Yv) & W). apply accesses_copies in U as (u' & U & ->); auto.
  apply accesses_copies in V as (v' & V & ->); auto. simpl in *.
  assert (c < c' \/ c = c' /\ i < i') as Ord by nia. replace c' with (c + (c' - c)) in * by lia.
  apply (meeting_follows n (c' - c) c i i' u' v' y); auto; try lia.
Qed.
End Window.

(** * Slots with banks obey the premise *)

(** Slot [own] has the banks [own .. own + b - 1]. Copy [c] names the bank that copy [c - d] calls its own:
    [slot_in_copy] in C++. *)
Definition bank b own d c := own + (c + d * (b - 1)) mod b.

(** Each access is of a slot with [0 < b < window] banks, and the banks of two slots are the same or have none in
    common. *)
Definition accesses_are_banked window : Prop :=
  exists b own d, (forall u, In u (flat_map own_accesses period) -> 0 < b u < window /\
                     forall c, in_copy u c = bank (b u) (own u) (d u) c) /\
    forall u v, In u (flat_map own_accesses period) -> In v (flat_map own_accesses period) ->
      own u = own v /\ b u = b v \/ own u + b u <= own v \/ own v + b v <= own u.

Lemma mod_moved b x y j : 0 < b -> (x + j) mod b = (y + j) mod b <-> x mod b = y mod b.
Proof.
  clear. intros B. split; intros E.
  - assert ((x + j + (b * j - j)) mod b = (y + j + (b * j - j)) mod b) as F
      by (rewrite (Nat.add_mod (x + j)), (Nat.add_mod (y + j)), E by lia; reflexivity).
    replace (x + j + (b * j - j)) with (x + j * b) in F by nia.
      replace (y + j + (b * j - j)) with (y + j * b) in F by nia.
    now rewrite !Nat.mod_add in F by lia.
  - rewrite (Nat.add_mod x), (Nat.add_mod y), E by lia. reflexivity.
Qed.

Theorem banks_come_back window : accesses_are_banked window -> banks_return window.
Proof.
  clear. intros (b & own & d & Is & Apart) u v c c' U V. destruct (Is u U) as [Bu Su], (Is v V) as [Bv Sv]. split.
  - intros j. rewrite !Su, !Sv. unfold bank. pose proof (Nat.mod_upper_bound (c + d u * (b u - 1)) (b u)).
    pose proof (Nat.mod_upper_bound (c' + d v * (b v - 1)) (b v)).
    pose proof (Nat.mod_upper_bound (c + j + d u * (b u - 1)) (b u)).
    pose proof (Nat.mod_upper_bound (c' + j + d v * (b v - 1)) (b v)).
    destruct (Apart u v U V) as [[Eo Eb]|[L|L]]; [|lia|lia]. rewrite <- Eo, <- Eb in *.
    replace (c + j + d u * (b u - 1)) with (c + d u * (b u - 1) + j) by lia.
    replace (c' + j + d v * (b u - 1)) with (c' + d v * (b u - 1) + j) by lia.
    pose proof (mod_moved (b u) (c + d u * (b u - 1)) (c' + d v * (b u - 1)) j). lia.
  - intros E. exists (b u). split; [easy|]. rewrite !Su, !Sv in E. unfold bank in E.
    pose proof (Nat.mod_upper_bound (c + d u * (b u - 1)) (b u)).
    pose proof (Nat.mod_upper_bound (c' + d v * (b v - 1)) (b v)).
    destruct (Apart u v U V) as [[Eo Eb]|[L|L]]; [|lia|lia].
    assert (forall x y, (x + b u + y) mod b u = (x + y) mod b u) as Mod.
    { intros x y. replace (x + b u + y) with (x + y + 1 * b u) by lia. apply Nat.mod_add. lia. }
    split; intros x; rewrite ?Su, ?Sv; unfold bank; rewrite <- ?Eb, Mod; reflexivity.
Qed.
End Periods.

Print Assumptions seen_through_window.
Print Assumptions window_proves_all_copies.
Print Assumptions banks_come_back.

(** * A period that is safe for every number of copies

    A producer writes a slot of two banks, a consumer reads it. The producer waits for the consumer of two copies
    before. Three copies are the window: the banks and one. *)
Definition slot_of_two := Carried_access (bank 2 0 0) 0 64.
Definition producer_and_consumer (distance : nat) : list period_task :=
  [Period_task 0 [(1, distance, 1)] [0] [slot_of_two true]; Period_task 1 [(0, 0, 1)] [1] [slot_of_two false]].
Definition accepted_copies (distance n : nat) : bool :=
  verify (copies (producer_and_consumer distance) 2 1 (fun _ => 0) [[0]; [1]] [0; 1] n)
    (order_of (producer_and_consumer distance) 1 (fun _ => 0) [0; 1] n)
    (queues_of (producer_and_consumer distance) (fun t => t) n) (repeat 1 (2 * n)).

Compute map (accepted_copies 2) [0; 1; 2; 3].
Compute map (accepted_copies 3) [0; 1; 2; 3; 4].
Example every_number_is_safe n :
  safe (copies (producer_and_consumer 2) 2 1 (fun _ => 0) [[0]; [1]] [0; 1] n).
Proof.
  apply window_proves_all_copies with (own_order := [0; 1]) (queue_of_task := fun t => t) (window := 3)
    (run_lengths := fun n => repeat 1 (2 * n)); try reflexivity.
  - apply banks_come_back. exists (fun _ => 2), (fun _ => 0), (fun _ => 0). split; [|auto].
    intros u [<-|[<-|[]]]; simpl; split; auto; lia.
  - intros [|[|[|m]]] L; try reflexivity. lia.
  - lia.
Qed.
