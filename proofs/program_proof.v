(* SPDX-License-Identifier: Apache-2.0 *)
(* The proof of a model's program by addresses: a table that prove_program accepts is safe.

   The model of include/hyperparallel/lowering/program_proof.hpp and shadow_memory.hpp: a function that computes,
   [prove_program], which walks the rows of a program and keeps, of every range of addresses, the place whose value lies
   there, the row that wrote it and the tasks that have read it since; and the theorem [prove_program_sound]. Accesses
   are ranges of bytes of a rank's memory, so safety is that of addresses.

   What the model takes as given: which places the tasks of a row read and write, on whose memory, and the addresses of
   places. C++ derives them from the program and its pulls, and refuses blocks that are larger than their places. Ranges
   lie in no order, and a task is found by the queue it stands in, where C++ tries the queues of its rank. *)
From Coq Require Import List Arith Lia Bool.
From hyperparallel Require Import model exact verify.
Import ListNotations.

(** * Definitions that have to be believed, beside those of model.v *)

(** A row: the tasks of all ranks for one step of the program. The task of rank [r] reads the places [read_places] in
    its own memory, or where [pulls], in the memory of the ranks [senders] of [r]; it writes the places [written_places]
    in its own memory. The places [detached] lose their value. *)
Record row := Row {
  read_places : list nat; written_places : list nat; pulls : bool; senders : list (list nat); detached : list nat }.
Definition no_row := Row [] [] false [] [].

(** What runs: queues of tasks by number, [queues_of_a_rank] for each rank; each task's waits, [(q, k)] for the k-th
    task of queue q; and the queues that it tells of its end. *)
Record table := Table {
  table_queues : list (list nat); queues_of_a_rank : nat; table_waits : list (list (nat * nat));
    told : list (list nat) }.

Section Program.
Variable ranks : nat.
(** The addresses of each place, from and up to; the same on every rank. *)
Variable ranges : list (nat * nat).
Variable rows : list row.
(** Places that hold at the end what was written to them last. *)
Variable homes : list nat.
Variable x : table.

Definition from place := fst (nth place ranges (0, 0)).
Definition up_to place := snd (nth place ranges (0, 0)).
Definition queue_count := length (table_queues x).
Definition tasks_of q := nth q (table_queues x) [].
(** The queue of task [t], [queue_count] where it stands in none, and its place there, from one. *)
Definition standing t :=
  match find (fun q => mem t (tasks_of q)) (seq 0 queue_count) with Some q => q | None => queue_count end.
Definition place_of t := S (index t (tasks_of (standing t))).
Definition waits_of t := nth t (table_waits x) [].

Definition senders_of (w : row) r := if pulls w then nth r (senders w) [] else [r].
Definition accesses_of (w : row) r :=
  flat_map (fun place => map (fun s => Access s (from place) (up_to place) false) (senders_of w r)) (read_places w) ++
  map (fun place => Access r (from place) (up_to place) true) (written_places w).
Definition row_of t := nth (t / ranks) rows no_row.

(** The plan that the table runs. Task [row * ranks + r] is that of rank [r]. A slot is the memory of a rank, a unit one
    of its bytes. Event q counts the tasks of queue q that have ended. *)
Definition plan_of : plan :=
  Plan (map (fun t => Task (t mod ranks) (waits_of t) [standing t] (accesses_of (row_of t) (t mod ranks)))
         (seq 0 (length rows * ranks)))
    (table_queues x) (map (fun q => q / queues_of_a_rank x) (seq 0 queue_count)).

(** In the table a wait is for a word: the queue that waits for [(w, k)] sees the place of the last task of queue [w]
    that has ended and tells it. [words_are_counters] shows that this holds exactly when the k-th task of [w] has
    ended. *)
Definition word_reached (ended : list nat) q w k : Prop :=
  exists a, In a (tasks_of w) /\ k <= place_of a /\ In a ended /\ In q (nth a (told x) []).

(** * The rule *)

(** ** shadow_memory.hpp *)

(** A range of addresses, on all ranks. [written] is the first task of the row that wrote it last: that of rank [r]
    wrote it on rank [r]. [readers] has the ranks whose memory was read there since, each with the task that did. *)
Record shadow := Shadow {
  low : nat; high : nat; owner : nat; written : option nat; readers : list (nat * nat) }.

Definition meets place (g : shadow) := (low g <? up_to place) && (from place <? high g).
Definition is_exact place g := (low g =? from place) && (high g =? up_to place) && (owner g =? place).
(** [None]: another value lies there. Untouched memory is the place's own. *)
Definition read_place (gone : list nat) (m : list shadow) place : option (list shadow) :=
  if mem place gone then None
  else match filter (meets place) m with
       | [] => Some (Shadow (from place) (up_to place) place None [] :: m)
       | [g] => if is_exact place g then Some m else None
       | _ => None
       end.
Fixpoint read_all gone (m : list shadow) (l : list nat) : option (list shadow) :=
  match l with
  | [] => Some m
  | place :: r => match read_place gone m place with Some m' => read_all gone m' r | None => None end
  end.
(** What a write leaves of a range. *)
Definition part g from_here up_to_here := Shadow from_here up_to_here (owner g) (written g) (readers g).
Definition cut place (g : shadow) : list shadow :=
  (if low g <? from place then [part g (low g) (min (high g) (from place))] else []) ++
  (if up_to place <? high g then [part g (max (low g) (up_to place)) (high g)] else []).
Definition write_place base (m : list shadow) place : list shadow :=
  Shadow (from place) (up_to place) place (Some base) [] :: flat_map (cut place) m.
Definition is_whole (m : list shadow) place : bool :=
  match filter (meets place) m with [] => true | [g] => is_exact place g | _ => false end.

(** ** program_proof.hpp *)

(** Empty places are nobody's. *)
Definition used (l : list nat) := filter (fun place => from place <? up_to place) l.
Definition meet a b := (from a <? up_to b) && (from b <? up_to a).

(** No task of a row writes what another one reads, or writes too. *)
Fixpoint writes_apart (l : list nat) : bool :=
  match l with [] => true | a :: r => forallb (fun b => (a =? b) || negb (meet a b)) r && writes_apart r end.
Definition row_apart (w : row) : bool :=
  writes_apart (used (written_places w)) &&
  forallb (fun a => forallb (fun b => negb (meet a b) || negb (pulls w) && (a =? b)) (used (written_places w)))
    (used (read_places w)).

(** Of each queue, how many of its tasks have been walked; and of each queue and other queue, the last place of the
    other that it has waited for. *)
Record progress := Progress { done : nat -> nat; known : nat -> nat -> nat }.
Definition at_start := Progress (fun _ => 0) (fun _ _ => 0).
Definition raise q (k : nat -> nat -> nat) (w : nat * nat) : nat -> nat -> nat :=
  fun a b => if (a =? q) && (b =? fst w) then max (k a b) (snd w) else k a b.
(** The numbers of one queue are written out, so that a program that is extracted looks them up quickly. *)
Definition known_after t (k : nat -> nat -> nat) : nat -> nat -> nat :=
  let q := standing t in
  let of_queue := map (fold_left (raise q) (waits_of t) k q) (seq 0 queue_count) in
  fun a b => if a =? q then nth b of_queue 0 else k a b.
Definition go_past t (s : progress) : progress :=
  let q := standing t in
  let count := S (done s q) in
  Progress (fun a => if a =? q then count else done s a) (known_after t (known s)).

Definition answers w k q := mem q (nth (nth (k - 1) (tasks_of w) 0) (told x) []).
Definition is_behind q (k : nat -> nat -> nat) a := (standing a =? q) || (place_of a <=? k q (standing a)).
Definition check_place t r (s : progress) : bool :=
  (r * queues_of_a_rank x <=? standing t) && (standing t <? (r + 1) * queues_of_a_rank x) &&
  (index t (tasks_of (standing t)) =? done s (standing t)).
Definition check_waits t (s : progress) : bool :=
  forallb (fun w => (fst w <? queue_count) && (1 <=? snd w) && (snd w <=? done s (fst w)) &&
                    answers (fst w) (snd w) (standing t)) (waits_of t).
Definition writer_behind t k (s : nat) (g : shadow) :=
  match written g with Some base => is_behind (standing t) k (base + s) | None => true end.
Definition check_reads (w : row) (m : list shadow) t r k : bool :=
  forallb (fun place => forallb (fun s => (s <? ranks) && forallb (writer_behind t k s) (filter (meets place) m))
                          (senders_of w r)) (used (read_places w)).
Definition check_writes (w : row) (m : list shadow) t r k : bool :=
  forallb (fun place =>
    forallb (fun g => writer_behind t k r g &&
                      forallb (fun u => negb (fst u =? r) || is_behind (standing t) k (snd u)) (readers g))
      (filter (meets place) m)) (used (written_places w)).
Definition check_task w m t r (s : progress) : bool :=
  check_place t r s && check_waits t s && check_reads w m t r (known_after t (known s)) &&
  check_writes w m t r (known_after t (known s)).
Fixpoint check_tasks w m base (l : list nat) (s : progress) : option progress :=
  match l with
  | [] => Some s
  | r :: rest => if check_task w m (base + r) r s then check_tasks w m base rest (go_past (base + r) s) else None
  end.

Definition new_readers (w : row) base (g : shadow) : list (nat * nat) :=
  flat_map (fun r => flat_map (fun place => if meets place g then map (fun s => (s, base + r)) (senders_of w r) else [])
                       (used (read_places w))) (seq 0 ranks).
Definition add_readers w base (m : list shadow) :=
  map (fun g => Shadow (low g) (high g) (owner g) (written g) (new_readers w base g ++ readers g)) m.
Definition leave_row w base (m : list shadow) := fold_left (write_place base) (used (written_places w)) (add_readers w
  base m).
Definition gone_after (w : row) (gone : list nat) :=
  detached w ++ filter (fun place => negb (mem place (used (written_places w)))) gone.

Fixpoint check_rows base (l : list row) gone m s : option (list nat * list shadow * progress) :=
  match l with
  | [] => Some (gone, m, s)
  | w :: rest =>
      match read_all gone m (used (read_places w)) with
      | Some m => if row_apart w
                  then match check_tasks w m base (seq 0 ranks) s with
                       | Some s => check_rows (base + ranks) rest (gone_after w gone) (leave_row w base m) s
                       | None => None
                       end
                  else None
      | None => None
      end
  end.
Definition prove_program : bool :=
  (queue_count =? ranks * queues_of_a_rank x) &&
  match check_rows 0 rows [] [] at_start with
  | Some (gone, m, s) =>
      forallb (fun q => done s q =? length (tasks_of q)) (seq 0 queue_count) &&
      forallb (fun home => negb (mem home gone) && is_whole m home) homes
  | None => false
  end.

(** * Soundness *)
Notation p := plan_of.
Notation n_tasks := (length rows * ranks).

Lemma size_plan : size p = n_tasks.
Proof. unfold size. simpl. now rewrite map_length, seq_length. Qed.

Lemma task_plan t : t < n_tasks ->
  task_at p t = Task (t mod ranks) (waits_of t) [standing t] (accesses_of (row_of t) (t mod ranks)).
Proof.
  intros T. unfold task_at. simpl.
  set (f := fun t => Task (t mod ranks) (waits_of t) [standing t] (accesses_of (row_of t) (t mod ranks))).
  rewrite nth_indep with (d' := f 0) by now rewrite map_length, seq_length.
  now rewrite map_nth, seq_nth by easy.
Qed.

(** ** First the walk is a run: what verify_order asks of a plan *)

(** The tasks before [n] that stand in queue [q]. *)
Definition walked q n := filter (fun t => standing t =? q) (seq 0 n).
Lemma walked_S q n : walked q (S n) = walked q n ++ (if standing n =? q then [n] else []).
Proof. unfold walked. rewrite seq_S, filter_app. reflexivity. Qed.

Definition counted n (s : progress) : Prop :=
  forall q, q < queue_count -> done s q = length (walked q n) /\ firstn (done s q) (tasks_of q) = walked q n.

Record rightly_walked (t : nat) : Prop := {
  stands : standing t < queue_count;
  stands_on_its_rank : ranks <> 0 -> standing t / queues_of_a_rank x = t mod ranks;
  stands_there : In t (tasks_of (standing t));
  placed_as_walked : place_of t = S (length (walked (standing t) t));
  waits_behind_it : forall w k, In (w, k) (waits_of t) -> w < queue_count /\ 1 <= k <= length (walked w t) /\
                      answers w k (standing t) = true }.

Hypothesis queues_are_of_ranks : queue_count = ranks * queues_of_a_rank x.

Lemma index_nth_error (l : list nat) t : In t l -> nth_error l (index t l) = Some t.
Proof.
  induction l as [|h l IH]; simpl; [easy|]. destruct (Nat.eqb_spec h t) as [->|N]; [easy|]. intros [E|I]; [easy|auto].
Qed.

Lemma standing_in t : standing t < queue_count -> In t (tasks_of (standing t)).
Proof.
  unfold standing. destruct (find _ _) as [q|] eqn:F; [|lia]. apply find_some in F as [_ M]. now apply mem_In in M.
Qed.

Lemma firstn_one_more (l : list nat) i t : nth_error l i = Some t -> firstn (S i) l = firstn i l ++ [t].
Proof.
  revert i. induction l as [|h l IH]; intros [|i] E; simpl in *; try easy; [now injection E as ->|]. f_equal. auto.
Qed.

Lemma task_walked w m base r s :
  r < ranks -> base mod ranks = 0 -> counted (base + r) s -> check_task w m (base + r) r s = true ->
  rightly_walked (base + r) /\ counted (S (base + r)) (go_past (base + r) s).
Proof.
  intros R B C H. unfold check_task in H. rewrite !andb_true_iff in H. destruct H as (((Pl & Wt) & _) & _).
  set (t := base + r) in *. set (q := standing t) in *. unfold check_place in Pl. fold q in Pl.
  rewrite !andb_true_iff, Nat.leb_le, Nat.ltb_lt, Nat.eqb_eq in Pl. destruct Pl as ((L & U) & I).
  assert (q < queue_count) as Q by (rewrite queues_are_of_ranks; nia).
  pose proof (standing_in t Q) as S. fold q in S. destruct (C q Q) as [D F]. split.
  - constructor; auto; fold q.
    + intros _. assert (t mod ranks = r) as ->.
      { unfold t. rewrite <- Nat.add_mod_idemp_l, B by lia. now apply Nat.mod_small. }
      symmetry. apply Nat.div_unique with (r := q - r * queues_of_a_rank x); lia.
    + unfold place_of. fold q. lia.
    + intros w' k J. unfold check_waits in Wt. rewrite forallb_forall in Wt. specialize (Wt (w', k) J).
      cbn [fst snd] in Wt. rewrite !andb_true_iff, Nat.ltb_lt, !Nat.leb_le in Wt. destruct Wt as (((W & K) & Kd) & A).
      destruct (C w' W) as [-> _] in Kd. auto.
  - intros q' Q'. rewrite walked_S. unfold go_past. cbn [done]. fold q. destruct (C q' Q') as [D' F'].
    destruct (Nat.eqb_spec q' q) as [->|N].
    + rewrite Nat.eqb_refl, app_length. cbn [length]. split; [lia|].
      rewrite (firstn_one_more _ _ t), F; auto. rewrite <- I. now apply index_nth_error.
    + destruct (Nat.eqb_spec q q'); [congruence|]. now rewrite app_nil_r.
Qed.

Lemma tasks_walked w m base l : forall r s s',
  base mod ranks = 0 -> r + length l <= ranks -> l = seq r (length l) -> counted (base + r) s ->
  check_tasks w m base l s = Some s' ->
  counted (base + r + length l) s' /\ forall t, base + r <= t < base + r + length l -> rightly_walked t.
Proof.
  induction l as [|h l IH]; intros r s s' B L E C H; simpl in *.
  - injection H as <-. rewrite Nat.add_0_r. split; auto. lia.
  - injection E as -> E. destruct (check_task w m (base + r) r s) eqn:K; [|easy].
    destruct (task_walked w m base r s) as [Rt C']; auto; [lia|].
    destruct (IH (S r) (go_past (base + r) s) s') as [C'' Rest]; auto; try lia.
    { now rewrite Nat.add_succ_r. }
    split; [now replace (base + r + S (length l)) with (base + S r + length l) by lia|].
    intros t T. destruct (Nat.eq_dec t (base + r)) as [->|]; auto. apply Rest. lia.
Qed.

Lemma rows_walked l : forall base gone m s gone' m' s',
  base mod ranks = 0 -> counted base s -> check_rows base l gone m s = Some (gone', m', s') ->
  counted (base + length l * ranks) s' /\ forall t, base <= t < base + length l * ranks -> rightly_walked t.
Proof.
  induction l as [|w l IH]; intros base gone m s gone' m' s' B C H; simpl in *.
  - injection H as _ _ <-. rewrite Nat.add_0_r. split; auto. lia.
  - destruct (read_all gone m (used (read_places w))) as [m1|]; [|easy]. destruct (row_apart w); [|easy].
    destruct (check_tasks w m1 base (seq 0 ranks) s) as [s1|] eqn:K; [|easy].
    destruct (tasks_walked w m1 base (seq 0 ranks) 0 s s1) as [C1 R1]; rewrite ?seq_length, ?Nat.add_0_r in *; auto.
    assert ((base + ranks) mod ranks = 0) as B'.
    { destruct (Nat.eq_dec ranks 0) as [E|N]; [now rewrite E, Nat.add_0_r in *|].
      rewrite <- Nat.add_mod_idemp_r, Nat.mod_same, Nat.add_0_r; auto. }
    destruct (IH _ _ _ _ _ _ _ B' C1 H) as [C2 R2]. rewrite Nat.add_assoc. split; auto. intros t T.
      destruct (le_lt_dec (base + ranks) t); [apply R2; lia|apply R1; lia].
Qed.

(** ** So the walk, as an order, passes verify_order *)
Section Walked.
Hypothesis walked_rightly : forall t, t < n_tasks -> rightly_walked t.
Hypothesis walked_all : forall q, q < queue_count -> tasks_of q = walked q n_tasks.

Definition order := seq 0 n_tasks.
Definition queue := map standing (seq 0 n_tasks).

Lemma queue_standing t : t < n_tasks -> queue_of p queue t = standing t.
Proof.
  intros T. unfold queue_of, queue. rewrite nth_indep with (d' := standing 0) by now rewrite map_length, seq_length.
  now rewrite map_nth, seq_nth.
Qed.

Lemma position_itself t : t < n_tasks -> position order t = t.
Proof.
  unfold position, order. intros T.
  enough (forall n a, a <= t < a + n -> a + index t (seq a n) = t) as E by (apply (E n_tasks 0); lia).
  induction n as [|n IH]; intros a A; simpl; [lia|]. destruct (Nat.eqb_spec a t); [lia|]. specialize (IH (S a)). lia.
Qed.

Lemma signals_plan t e : t < n_tasks -> signals_of p e t = if standing t =? e then 1 else 0.
Proof.
  intros T. unfold signals_of. rewrite task_plan by easy. simpl. destruct (Nat.eq_dec (standing t) e) as [->|N].
  - now rewrite Nat.eqb_refl.
  - now destruct (Nat.eqb_spec (standing t) e).
Qed.

Lemma is_signaller_plan t e : t < n_tasks -> is_signaller p e t = (standing t =? e).
Proof.
  intros T. unfold is_signaller. rewrite task_plan by easy. unfold mem. simpl. now rewrite orb_false_r, Nat.eqb_sym.
Qed.

(** A counter, when exactly the tasks before [t] have ended. *)
Lemma signalled_walked who e t :
  t <= n_tasks -> (forall a, a < n_tasks -> who a = (a <? t)) -> signalled p who e = length (walked e t).
Proof.
  intros T W. unfold signalled. rewrite size_plan.
  assert (forall n, n <= n_tasks -> list_sum (map (fun t => if who t then signals_of p e t else 0) (seq 0 n)) =
                    length (walked e (min t n))) as E; [|rewrite E, Nat.min_l; auto].
  induction n as [|n IH]; intros N; [now rewrite Nat.min_0_r|].
  rewrite seq_S, map_app. simpl. rewrite list_sum_app, IH by lia. simpl. rewrite W, signals_plan by lia.
  destruct (Nat.ltb_spec n t).
  - rewrite (Nat.min_r t (S n)), (Nat.min_r t n), walked_S, app_length by lia. destruct (standing n =? e); simpl; lia.
  - rewrite !Nat.min_l by lia. lia.
Qed.

Lemma waits_satisfied_walked k : forall t l,
  t + k <= n_tasks -> (forall a, mem a l = (a <? t)) -> waits_satisfied p l (seq t k) = true.
Proof.
  induction k as [|k IH]; intros t l T M; cbn [seq waits_satisfied]; auto. apply andb_true_iff. split.
  - rewrite task_plan by lia. cbn [waits]. apply forallb_forall. intros [w b] I. cbn [fst snd].
    destruct (waits_behind_it t (walked_rightly t ltac:(lia)) w b I) as (_ & B & _).
    rewrite (signalled_walked _ w t) by (auto; lia). rewrite andb_true_iff, !Nat.leb_le. exact B.
  - apply IH; [lia|]. intros a. unfold mem in *. simpl. rewrite M.
    destruct (Nat.eqb_spec a t), (Nat.ltb_spec a t), (Nat.ltb_spec a (S t)); auto; lia.
Qed.

Lemma order_of_walk : verify_order p order queue = true.
Proof.
  unfold verify_order. rewrite !andb_true_iff, !forallb_forall, size_plan. repeat split.
  - apply distinct_iff, seq_NoDup.
  - intros t I. apply in_seq in I. rewrite queue_standing by lia.
    destruct (walked_rightly t ltac:(lia)) as [St Rk _ _ _]. rewrite !andb_true_iff, !Nat.ltb_lt. repeat split; auto;
      [lia|].
    unfold is_in_pool. rewrite task_plan by lia. simpl.
    set (f := fun q => q / queues_of_a_rank x).
    assert (nth_error (map f (seq 0 queue_count)) (standing t) = Some (f (standing t))) as ->.
    { apply map_nth_error. rewrite nth_error_nth' with (d := 0) by now rewrite seq_length. now rewrite seq_nth. }
    apply Nat.eqb_eq. apply Rk. nia.
  - intros t I. apply mem_In. apply in_seq in I. apply in_seq. lia.
  - destruct (list_eq_dec _ _ _) as [|N]; [easy|exfalso; apply N]. simpl. fold queue_count.
    transitivity (map tasks_of (seq 0 queue_count)).
    + unfold tasks_of, queue_count. clear. induction (table_queues x) as [|h l IH]; auto.
      simpl. f_equal. rewrite <- seq_shift, map_map. exact IH.
    + apply map_ext_in. intros q I. apply in_seq in I. rewrite walked_all by lia. unfold walked, order.
      apply filter_ext_in. intros t J. apply in_seq in J. now rewrite queue_standing by lia.
  - now apply waits_satisfied_walked.
Qed.

Lemma partial_waits_of_walk : verify_partial_waits p order queue = true.
Proof.
  unfold verify_partial_waits. apply forallb_forall. intros t _. apply forallb_forall. intros [e k] _.
    apply orb_true_iff.
  right. unfold one_queue. destruct (first_signaller p order (fst (e, k))) as [c|] eqn:F; auto. simpl in F.
  unfold first_signaller in F. apply find_some in F as [Ic Sc]. unfold order in Ic. apply in_seq in Ic.
  rewrite is_signaller_plan in Sc by lia. apply Nat.eqb_eq in Sc.
  apply forallb_forall. intros a Ia. unfold order in Ia. apply in_seq in Ia. simpl.
  rewrite is_signaller_plan, !queue_standing by lia. rewrite Sc. destruct (standing a =? e); auto.
Qed.

(** A task follows each task that is known to be behind it. *)
Definition from_waits n (k : nat -> nat -> nat) : Prop :=
  forall q w, 0 < k q w -> exists t, t < n /\ standing t = q /\ In (w, k q w) (waits_of t).

Lemma from_waits_after t k : from_waits t k -> from_waits (S t) (known_after t k).
Proof.
  intros H.
  assert (forall l k, incl l (waits_of t) -> from_waits (S t) k ->
          from_waits (S t) (fold_left (raise (standing t)) l k)) as G.
  { induction l as [|[w b] l IH]; intros k' I F; simpl; auto. apply IH; [intros y Y; apply I; now right|].
    intros q e. unfold raise. simpl. destruct (Nat.eqb_spec q (standing t)) as [->|]; simpl; auto.
    destruct (Nat.eqb_spec e w) as [->|]; auto. intros L.
    destruct (Nat.max_spec (k' (standing t) w) b) as [[M ->]|[M E]].
    - exists t. repeat split; auto. apply I. now left.
    - rewrite E in *. now apply F. }
  assert (from_waits (S t) k) as K.
  { intros q w L. destruct (H q w L) as (u & U & R). exists u. split; [lia|easy]. }
  specialize (G (waits_of t) k (incl_refl _) K). intros q w L. unfold known_after in *.
  destruct (Nat.eqb_spec q (standing t)) as [->|]; [|now apply K].
  set (f := fold_left (raise (standing t)) (waits_of t) k (standing t)) in *.
  destruct (le_lt_dec queue_count w) as [Out|In_count].
  - rewrite nth_overflow in L by now rewrite map_length, seq_length. lia.
  - rewrite nth_indep with (d' := f 0) in L |- * by now rewrite map_length, seq_length.
    rewrite map_nth, seq_nth in L |- * by easy. now apply G.
Qed.

Lemma behind_follows t k a :
  t < n_tasks -> a < t -> from_waits (S t) k -> is_behind (standing t) k a = true -> follows p t a.
Proof.
  intros T A F H. pose proof order_of_walk as O. pose proof partial_waits_of_walk as P.
  assert (forall u v, v < u -> u < n_tasks -> standing v = standing u -> follows p u v) as Same.
  { intros u v L U E. apply (same_queue p order queue O); rewrite ?size_plan, ?queue_standing, ?position_itself; lia. }
  unfold is_behind in H. apply orb_true_iff in H as [H|H]; [apply Nat.eqb_eq in H; now apply Same|].
  apply Nat.leb_le in H. destruct (F (standing t) (standing a)) as (u & U & Q & I); [unfold place_of in H; lia|].
  assert (follows p u a) as Fu.
  { apply (follows_by_wait p order queue O P u a (standing a) (k (standing t) (standing a))).
    - now rewrite task_plan by lia.
    - rewrite size_plan. lia.
    - rewrite is_signaller_plan by lia. apply Nat.eqb_refl.
    - right. eapply Nat.le_trans; [|exact H]. unfold ordinal.
      rewrite (placed_as_walked a (walked_rightly a ltac:(lia))). apply le_n_S.
      rewrite (signalled_walked _ (standing a) a); [easy|lia|]. intros b B. now rewrite !position_itself by lia. }
  destruct (Nat.eq_dec u t) as [->|]; auto. apply (follows_trans p t u a); auto. apply Same; auto. lia.
Qed.

(** ** Words are counters: a wait of the table holds exactly when the plan's does *)
Theorem words_are_counters s t w k :
  reachable p s -> t < n_tasks -> In (w, k) (waits_of t) ->
  (word_reached (ended s) (standing t) w k <-> k <= signalled p (fun a => mem a (ended s)) w).
Proof.
  intros R T I. destruct (waits_behind_it t (walked_rightly t T) w k I) as (W & K & A).
  pose proof order_of_walk as O. destruct (bookkeeping p s R) as (_ & _ & Inc & Bs). rewrite size_plan in Bs.
  assert (forall u v, v < u -> standing v = w -> standing u = w -> In u (ended s) -> In v (ended s)) as Down.
  { intros u v L V U E. specialize (Bs u (Inc u E)).
    apply (same_queue p order queue O v u); rewrite ?size_plan, ?queue_standing, ?position_itself; auto; lia. }
  assert (forall a, In a (tasks_of w) -> a < n_tasks /\ standing a = w) as In_w.
  { intros a Ia. rewrite walked_all in Ia by easy. unfold walked in Ia. apply filter_In in Ia as [B Q].
    apply in_seq in B. apply Nat.eqb_eq in Q. lia. }
  split.
  - intros (a & Ia & L & E & _). destruct (In_w a Ia) as [B Q].
    rewrite (placed_as_walked a (walked_rightly a B)), Q in L.
    transitivity (length (walked w (S a))); [rewrite walked_S, app_length, Q, Nat.eqb_refl; simpl; lia|].
    rewrite <- (signalled_walked (fun b => b <? S a) w (S a)) by (auto; lia).
    apply signalled_le. intros b Hb S Lb. rewrite size_plan in Hb. apply Nat.ltb_lt in Lb. apply mem_In.
    destruct (Nat.eq_dec b a) as [->|]; auto. apply (Down a b); auto; [lia|].
    rewrite signals_plan in S by easy. destruct (Nat.eqb_spec (standing b) w); lia.
  - intros S. set (c := nth (k - 1) (tasks_of w) 0).
    assert (k - 1 < length (tasks_of w)) as Lk.
    { destruct K as [K1 K2]. rewrite walked_all by easy. unfold walked in *.
      replace n_tasks with (t + (n_tasks - t)) by lia. rewrite seq_app, filter_app, app_length. lia. }
    assert (In c (tasks_of w)) as Ic by now apply nth_In.
    destruct (In_w c Ic) as [B Q]. exists c.
    assert (place_of c = k) as Pc.
    { unfold place_of. rewrite Q.
      assert (NoDup (tasks_of w)) as ND by (rewrite walked_all by easy; apply NoDup_filter, seq_NoDup).
      enough (index c (tasks_of w) = k - 1) by lia. pose proof (index_nth_error _ _ Ic) as E.
      assert (nth_error (tasks_of w) (k - 1) = Some c) as E' by now apply nth_error_nth'.
      rewrite NoDup_nth_error in ND. symmetry. apply ND; [lia|congruence]. }
    repeat split; [easy|lia| |now apply mem_In].
    destruct (in_dec Nat.eq_dec c (ended s)) as [|N]; auto. exfalso.
    assert (signalled p (fun a => mem a (ended s)) w <= length (walked w c)) as Few.
    { rewrite <- (signalled_walked (fun b => b <? c) w c) by (auto; lia). apply signalled_le.
      intros b Hb Sb Mb. rewrite size_plan in Hb. apply mem_In in Mb. apply Nat.ltb_lt.
      rewrite signals_plan in Sb by easy. destruct (Nat.eqb_spec (standing b) w) as [Qb|]; [|lia].
      destruct (lt_eq_lt_dec b c) as [[|E]|L]; auto; exfalso; apply N; [now rewrite <- E|now apply (Down b c)]. }
    rewrite (placed_as_walked c (walked_rightly c B)), Q in Pc. lia.
Qed.

(** ** Then memory: the invariant of the walk

    Task [a] uses byte [y] of rank [s]. In shadow memory some range has that byte, and stands for the use: the task that
    wrote it there is [a] or follows it, or [a] is among its readers. So a task that comes after the writer and, if it
    writes, after all readers of the ranges that it meets, follows every earlier use that it conflicts with. *)
Definition uses a s y w : Prop :=
  exists v, In v (accesses (task_at p a)) /\ slot v = s /\ first v <= y < past v /\ writes v = w.
Definition inside y place := from place <= y < up_to place.

Lemma uses_row i r s y w : i < length rows -> r < ranks ->
  (uses (i * ranks + r) s y w <->
   if w then s = r /\ exists place, In place (used (written_places (nth i rows no_row))) /\ inside y place
   else exists place, In place (used (read_places (nth i rows no_row))) /\
          In s (senders_of (nth i rows no_row) r) /\ inside y place).
Proof.
  intros I R. unfold uses. rewrite task_plan by nia. simpl.
  assert ((i * ranks + r) mod ranks = r) as -> by (rewrite Nat.add_comm, Nat.mod_add by lia; now apply Nat.mod_small).
  unfold row_of. rewrite Nat.div_add_l, (Nat.div_small r), Nat.add_0_r by lia.
  set (k := nth i rows _). unfold accesses_of, used, inside. split.
  - intros (v & V & S & Y & W). apply in_app_iff in V as [V|V].
    + apply in_flat_map in V as (place & Pl & V). apply in_map_iff in V as (s' & <- & V). simpl in *. subst.
      exists place. rewrite filter_In, Nat.ltb_lt. split; [split; auto; lia|auto].
    + apply in_map_iff in V as (place & <- & Pl). simpl in *. subst. split; auto.
      exists place. rewrite filter_In, Nat.ltb_lt. split; [split; auto; lia|auto].
  - destruct w.
    + intros (-> & place & Pl & Y). apply filter_In in Pl as [Pl _].
      exists (Access r (from place) (up_to place) true). simpl. repeat split; auto; try apply Y.
      apply in_app_iff. right. apply in_map_iff. eauto.
    + intros (place & Pl & S & Y). apply filter_In in Pl as [Pl _].
      exists (Access s (from place) (up_to place) false). simpl. repeat split; auto; try apply Y.
      apply in_app_iff. left. apply in_flat_map. exists place. split; auto. apply in_map_iff. eauto.
Qed.

(** Range [g] stands for task [a], which uses a byte of rank [s]; all tasks in shadow memory are before [n]. *)
Definition stands_for n (g : shadow) s a (w : bool) : Prop :=
  (exists base, written g = Some base /\ base + s < n /\ (base + s = a \/ follows p (base + s) a)) \/
  (w = false /\ In (s, a) (readers g)).
Definition remembers n (m : list shadow) (these : nat -> nat -> nat -> bool -> Prop) : Prop :=
  forall a s y w, these a s y w -> exists g, In g m /\ low g <= y < high g /\ stands_for n g s a w.

Lemma remembers_reads gone l n these : forall m m',
  remembers n m these -> read_all gone m l = Some m' ->
  remembers n m' these /\ incl m m' /\ forall place, In place l -> exists g, In g m' /\ low g = from place /\
    high g = up_to place.
Proof.
  induction l as [|place l IH]; intros m m' H E; simpl in E; [injection E as <-; repeat split; easy|].
  destruct (read_place gone m place) as [m1|] eqn:R; [|easy].
  assert (incl m m1 /\ exists g, In g m1 /\ low g = from place /\ high g = up_to place) as (I1 & g & G & Lo & Hi).
  { unfold read_place in R. destruct (mem place gone); [easy|].
    destruct (filter (meets place) m) as [|g [|g' l']] eqn:F; [injection R as <-|destruct (is_exact place g) eqn:X|];
      try easy.
    - split; [intros y Y; now right|]. eexists. split; [now left|easy].
    - injection R as <-. split; [easy|]. exists g. unfold is_exact in X. rewrite !andb_true_iff, !Nat.eqb_eq in X.
      split; [|easy]. assert (In g (filter (meets place) m)) as G by (rewrite F; now left). now apply filter_In in G. }
  destruct (IH m1 m') as (H' & I' & Found); auto.
  { intros a s y w U. destruct (H a s y w U) as (k & K & St). exists k. split; auto. }
  split; [easy|]. split; [intros y Y; auto|]. intros q [<-|Q]; eauto.
Qed.

Lemma remembers_write base place n m these :
  from place < up_to place -> base + ranks <= n ->
  remembers n m these -> (forall a s y w, these a s y w -> s < ranks) ->
  (forall a s y w, these a s y w -> inside y place -> base + s = a \/ follows p (base + s) a) ->
  remembers n (write_place base m place)
    (fun a s y w => these a s y w \/ a = base + s /\ s < ranks /\ inside y place).
Proof.
  intros Ne N H Sl F a s y w U.
  assert (s < ranks -> inside y place -> base + s = a \/ follows p (base + s) a ->
          exists g, In g (write_place base m place) /\ low g <= y < high g /\ stands_for n g s a w) as Fresh.
  { intros S Y C. eexists. split; [now left|]. split; [exact Y|]. left. exists base. simpl. repeat split; auto. lia. }
  destruct U as [U|(-> & S & Y)]; [|apply Fresh; auto].
  destruct (le_lt_dec (from place) y), (le_lt_dec (up_to place) y).
  2: { apply Fresh; [eauto|split; auto|]. apply (F a s y w U). split; auto. }
  - destruct (H a s y w U) as (g & G & Y & St).
    exists (part g (max (low g) (up_to place)) (high g)).
    split; [|split; [simpl; lia|exact St]]. right. apply in_flat_map. exists g. split; auto. unfold cut.
      apply in_app_iff. right.
    destruct (Nat.ltb_spec (up_to place) (high g)); [now left|lia].
  - lia.
  - destruct (H a s y w U) as (g & G & Y & St).
    exists (part g (low g) (min (high g) (from place))).
    split; [|split; [simpl; lia|exact St]]. right. apply in_flat_map. exists g. split; auto. unfold cut.
      apply in_app_iff. left.
    destruct (Nat.ltb_spec (low g) (from place)); [now left|lia].
Qed.

Lemma remembers_writes base n l : forall m these,
  (forall place, In place l -> from place < up_to place) -> base + ranks <= n ->
  remembers n m these -> (forall a s y w, these a s y w -> s < ranks) ->
  (forall place a s y w, In place l -> these a s y w -> inside y place -> base + s = a \/ follows p (base + s) a) ->
  remembers n (fold_left (write_place base) l m)
    (fun a s y w => these a s y w \/ a = base + s /\ s < ranks /\ exists place, In place l /\ inside y place).
Proof.
  induction l as [|place l IH]; intros m these Ne N H Sl F; simpl.
  - intros a s y w [U|(_ & _ & place & [] & _)]. now apply (H a s y w).
  - intros a s y w U.
    refine (IH (write_place base m place) (fun a s y w => these a s y w \/ a = base + s /\ s < ranks /\ inside y place)
              _ N _ _ _ a s y w _).
    + intros q Q. apply Ne. now right.
    + apply remembers_write; auto; [apply Ne; now left|]. intros a' s' y' w' U'. apply (F place a' s' y' w'); auto.
      now left.
    + intros a' s' y' w' [U'|(_ & S & _)]; eauto.
    + intros q a' s' y' w' Q [U'|(-> & _ & _)] Y; auto. apply (F q a' s' y' w'); auto. now right.
    + destruct U as [U|(E & S & q & [<-|Q] & Y)]; auto. right. repeat split; auto. eauto.
Qed.

(** What the checks of the tasks of a row show: each follows every earlier use that shadow memory remembers, where one
    of the two writes. *)
Definition row_follows (w : row) base (m : list shadow) r : Prop :=
  forall a s y write g, In g m -> low g <= y < high g -> stands_for base g s a write -> a < base ->
    (exists place, In place (used (read_places w)) /\ In s (senders_of w r) /\ inside y place) /\ write = true \/
    (exists place, In place (used (written_places w)) /\ s = r /\ inside y place) -> follows p (base + r) a.

Lemma task_follows (w : row) base m r s :
  r < ranks -> base + r < n_tasks -> from_waits (base + r) (known s) -> check_task w m (base + r) r s = true ->
  row_follows w base m r.
Proof.
  intros R T K H a rank y write g G Y St A Use. unfold check_task in H. rewrite !andb_true_iff in H.
  destruct H as ((_ & Rd) & Wr). pose proof (from_waits_after _ _ K) as K'.
    set (k := known_after (base + r) (known s)) in *.
  assert (forall b, b < base -> is_behind (standing (base + r)) k b = true -> follows p (base + r) b) as Behind.
  { intros b B Is. apply (behind_follows (base + r) k b); auto. lia. }
  assert (forall place, inside y place -> meets place g = true) as Meet.
  { intros place I. unfold meets, inside in *. rewrite andb_true_iff, !Nat.ltb_lt. lia. }
  assert (writer_behind (base + r) k rank g = true ->
          (write = false -> In (rank, a) (readers g) -> follows p (base + r) a) -> follows p (base + r) a) as By.
  { intros Wb Re. destruct St as [(b & W & B & C)|[W I]]; auto. unfold writer_behind in Wb. rewrite W in Wb.
    specialize (Behind (b + rank) B Wb). destruct C as [<-|C]; auto. now apply (follows_trans p _ (b + rank)). }
  destruct Use as [[(place & Pl & S & I) ->]|(place & Pl & -> & I)].
  - unfold check_reads in Rd. rewrite forallb_forall in Rd. specialize (Rd place Pl). rewrite forallb_forall in Rd.
    specialize (Rd rank S). apply andb_true_iff in Rd as [_ Rd]. rewrite forallb_forall in Rd.
    apply By; [|easy]. apply Rd, filter_In. auto.
  - unfold check_writes in Wr. rewrite forallb_forall in Wr. specialize (Wr place Pl). rewrite forallb_forall in Wr.
    specialize (Wr g). apply andb_true_iff in Wr as [W Re]; [|apply filter_In; auto]. apply By; auto.
    intros _ Ia. rewrite forallb_forall in Re. specialize (Re (r, a) Ia). simpl in Re. rewrite Nat.eqb_refl in Re.
    now apply Behind.
Qed.

Lemma tasks_follow (w : row) base m l : forall r s s',
  r + length l <= ranks -> base + ranks <= n_tasks -> l = seq r (length l) -> from_waits (base + r) (known s) ->
  check_tasks w m base l s = Some s' ->
  from_waits (base + r + length l) (known s') /\ (forall i, r <= i < r + length l -> row_follows w base m i) /\
  (forall i place s, r <= i < r + length l -> In place (used (read_places w)) -> In s (senders_of w i) -> s < ranks).
Proof.
  induction l as [|h l IH]; intros r s s' L B E K H; simpl in *.
  - injection H as <-. rewrite Nat.add_0_r. repeat split; auto; lia.
  - injection E as -> E. destruct (check_task w m (base + r) r s) eqn:C; [|easy].
    destruct (IH (S r) (go_past (base + r) s) s') as (K' & F & Sn); auto; try lia.
    { simpl. rewrite Nat.add_succ_r. now apply from_waits_after. }
    split; [now replace (base + r + S (length l)) with (base + S r + length l) by lia|]. split.
    + intros i I. destruct (Nat.eq_dec i r) as [->|]; [apply (task_follows w base m r s); auto; lia|apply F; lia].
    + intros i place q I Pl Q. destruct (Nat.eq_dec i r) as [->|]; [|apply (Sn i place q); auto; lia].
      unfold check_task in C. rewrite !andb_true_iff in C. destruct C as ((_ & Rd) & _). unfold check_reads in Rd.
      rewrite forallb_forall in Rd. specialize (Rd place Pl). rewrite forallb_forall in Rd. specialize (Rd q Q).
      apply andb_true_iff in Rd as [Rd _]. now apply Nat.ltb_lt.
Qed.

Lemma next_row i w l :
  i + S (length l) = length rows -> w :: l = skipn i rows ->
  nth i rows no_row = w /\ l = skipn (S i) rows.
Proof.
  clear. revert i. induction rows as [|h t IH]; intros [|i] L E; simpl in *; try easy.
  - injection E as -> ->. easy.
  - apply IH; auto.
Qed.

(** What a task of a row reads and one writes is the same task's. *)
Lemma own_memory w : row_apart w = true -> forall r s y place place',
  In place (used (read_places w)) -> In s (senders_of w r) -> inside y place ->
  In place' (used (written_places w)) -> inside y place' -> s = r.
Proof.
  clear queues_are_of_ranks walked_rightly walked_all.
  intros Apart r s y q q' Q S Y Q' Y'. unfold row_apart in Apart. apply andb_true_iff in Apart as [_ Ap].
  rewrite forallb_forall in Ap. specialize (Ap q Q). rewrite forallb_forall in Ap. specialize (Ap q' Q').
  unfold meet, inside in *. apply orb_true_iff in Ap as [Ap|Ap].
  - apply negb_true_iff, andb_false_iff in Ap. rewrite !Nat.ltb_ge in Ap. lia.
  - apply andb_true_iff in Ap as [Ap _]. apply negb_true_iff in Ap. unfold senders_of in S. rewrite Ap in S.
    now destruct S as [->|[]].
Qed.

(** The uses of all tasks before [n]. *)
Definition earlier n a s y w : Prop := a < n /\ uses a s y w.

Lemma rows_follow l : forall i gone m s out,
  i + length l = length rows -> l = skipn i rows ->
  remembers (i * ranks) m (earlier (i * ranks)) ->
  (forall a s y w, earlier (i * ranks) a s y w -> s < ranks) -> from_waits (i * ranks) (known s) ->
  check_rows (i * ranks) l gone m s = Some out ->
  forall a b, a < b -> i * ranks <= b < n_tasks -> conflict p a b -> follows p b a.
Proof.
  induction l as [|w l IH]; intros i gone m s out L E M Sl K H a b AB B C; simpl in *; [nia|].
  destruct (read_all gone m (used (read_places w))) as [m1|] eqn:Rd; [|easy].
  destruct (row_apart w) eqn:Apart; [|easy].
  destruct (check_tasks w m1 (i * ranks) (seq 0 ranks) s) as [s1|] eqn:Ts; [|easy].
  destruct (next_row i w l L E) as [Wi El].
  set (base := i * ranks) in *.
  destruct (remembers_reads gone (used (read_places w)) base (earlier base) m m1 M Rd) as (M1 & _ & Found).
  destruct (tasks_follow w base m1 (seq 0 ranks) 0 s s1) as (K1 & F & Snd); rewrite ?seq_length, ?Nat.add_0_r in *;
    auto.
  { unfold base. nia. }
  assert (forall r, r < ranks -> base + r < n_tasks) as In_row by (intros; unfold base; nia).
  assert (forall r s y w', r < ranks -> (uses (base + r) s y w' <->
            if w' then s = r /\ exists place, In place (used (written_places w)) /\ inside y place
            else exists place, In place (used (read_places w)) /\ In s (senders_of w r) /\ inside y place)) as Uses.
  { intros r s0 y w' R. unfold base. rewrite uses_row by lia. now rewrite Wi. }
  pose proof (own_memory w Apart) as Own.
  (* An earlier use that the task of rank [r] conflicts with. *)
  assert (forall r a s y wa wb, r < ranks -> a < base -> uses a s y wa -> uses (base + r) s y wb -> wa || wb = true ->
            follows p (base + r) a) as After.
  { intros r a0 s0 y wa wb R A Ua Ub W. destruct (M1 a0 s0 y wa (conj A Ua)) as (g & G & Y & St).
    apply (F r ltac:(lia) a0 s0 y wa g G Y St A). apply Uses in Ub; auto. destruct wb.
    - right. destruct Ub as (-> & q & Q & Iq). eauto.
    - left. rewrite orb_false_r in W. split; auto. }
  destruct (le_lt_dec (base + ranks) b) as [Later|Here].
  - (* a task of a later row *)
    refine (IH (S i) (gone_after w gone) (leave_row w base m1) s1 out _ El _ _ _ _ a b AB _ C); try lia.
    + replace (S i * ranks) with (base + ranks) by (unfold base; lia).
      set (these := fun a s y wr => earlier base a s y wr \/ exists r, r < ranks /\ a = base + r /\ wr = false /\
        uses a s y wr).
      assert (remembers (base + ranks) (add_readers w base m1) these) as Mr.
      { intros a0 s0 y wr [U|(r & R & -> & -> & U)].
        - destruct (M1 a0 s0 y wr U) as (g & G & Y & St). eexists. split; [apply in_map; exact G|]. split; [exact Y|].
          destruct St as [(b0 & W & Lb & Cb)|[W I]]; [left; exists b0; simpl; repeat split; auto; lia|right].
          simpl. split; auto. apply in_app_iff. now right.
        - apply Uses in U as (q & Q & S & Y); auto. destruct (Found q Q) as (g & G & Lo & Hi).
          eexists. split; [apply in_map; exact G|]. simpl. rewrite Lo, Hi. split; [exact Y|]. right. split; auto. simpl.
          apply in_app_iff. left. unfold new_readers. apply in_flat_map. exists r. split; [apply in_seq; lia|].
          apply in_flat_map. exists q. split; auto. unfold meets. rewrite Lo, Hi. unfold inside in Y.
          rewrite (proj2 (Nat.ltb_lt _ _)) by lia. apply in_map_iff. eauto. }
      pose proof (remembers_writes base (base + ranks) (used (written_places w)) (add_readers w base m1) these) as Mw.
      intros a0 s0 y wr [A0 U0]. apply Mw; auto.
      * intros q Q. unfold used in Q. apply filter_In in Q as [_ Q]. now apply Nat.ltb_lt.
      * intros a1 s1' y1 w1 [U|(r & R & -> & -> & U)]; [now apply (Sl a1 s1' y1 w1)|].
        apply Uses in U as (q & Q & S & _); auto. apply (Snd r q s1'); auto; lia.
      * intros q a1 s1' y1 w1 Q [[A1 U]|(r & R & -> & -> & U)] Y1.
        -- right. assert (s1' < ranks) as S1 by (apply (Sl a1 s1' y1 w1); split; auto).
           apply (After s1' a1 s1' y1 w1 true); auto; [|apply orb_true_r]. apply Uses; eauto.
        -- left. apply Uses in U as (q' & Q' & S & Y'); auto. f_equal. symmetry.
           now rewrite (Own r s1' y1 q' q).
      * destruct (le_lt_dec base a0) as [Lo|]; [|left; left; split; auto].
        assert (a0 = base + (a0 - base)) as E0 by lia. destruct wr.
        -- right. rewrite E0 in U0. apply Uses in U0 as (-> & q & Q & Y); [|lia]. repeat split; eauto; lia.
        -- left. right. exists (a0 - base). repeat split; auto. lia.
    + intros a0 s0 y wr [A0 U0]. destruct (le_lt_dec base a0) as [Lo|]; [|apply (Sl a0 s0 y wr); split; auto].
      assert (a0 = base + (a0 - base)) as E0 by lia. assert (a0 - base < ranks) as R0 by (unfold base in *; lia).
      rewrite E0 in U0. apply Uses in U0; auto. destruct wr.
      * destruct U0 as (-> & _). exact R0.
      * destruct U0 as (q & Q & S & _). apply (Snd (a0 - base) q s0); auto; lia.
    + now replace (S i * ranks) with (base + ranks) by (unfold base; lia).
    + replace (S i * ranks) with (base + ranks) by (unfold base; lia). exact H.
  - (* a task of this row *)
    assert (b = base + (b - base)) as Eb by (unfold base in *; lia). assert (b - base < ranks) as Rb by lia.
    destruct C as (u & v & Iu & Iv & (S & y & Yu & Yv) & W).
    assert (uses a (slot u) y (writes u)) as Ua by (exists u; auto).
    assert (uses b (slot u) y (writes v)) as Ub by (exists v; rewrite S; auto).
    destruct (le_lt_dec base a) as [Lo|Lo].
    + exfalso. assert (a = base + (a - base)) as Ea by lia. assert (a - base < ranks) as Ra by lia.
      rewrite Ea in Ua. rewrite Eb in Ub. apply Uses in Ua; auto. apply Uses in Ub; auto.
      enough (a - base = b - base) by lia. destruct (writes u), (writes v); try discriminate.
      * destruct Ua as [<- _], Ub as [<- _]. easy.
      * destruct Ua as (<- & q' & Q' & Y'), Ub as (q & Q & Sq & Y). now apply (Own (b - base) (slot u) y q q').
      * destruct Ub as (<- & q' & Q' & Y'), Ua as (q & Q & Sq & Y). symmetry.
        now apply (Own (a - base) (slot u) y q q').
    + rewrite Eb. apply (After (b - base) a (slot u) y (writes u) (writes v)); auto. now rewrite <- Eb.
Qed.
(** ** Values: what is read is the place's own

    Of rank [s], byte [y]: the task [a] writes it as part of [place]; and the last such task before [n], if there is
    one, wrote it as part of [place]. *)
Definition wrote a s y place : Prop :=
  exists i, i < length rows /\ s < ranks /\ a = i * ranks + s /\
    In place (used (written_places (nth i rows no_row))) /\ inside y place.
Definition last_written n s y place : Prop :=
  forall a q, a < n -> wrote a s y q -> (forall b q', a < b < n -> ~ wrote b s y q') -> q = place.

(** Every byte that was written lies in a range, and the value in each range is its owner's. *)
Definition holds_values n (m : list shadow) : Prop :=
  (forall a s y q, a < n -> wrote a s y q -> exists g, In g m /\ low g <= y < high g) /\
  (forall g s y, In g m -> low g <= y < high g -> last_written n s y (owner g)).

Lemma untouched n m place s y :
  holds_values n m -> filter (meets place) m = [] -> inside y place -> last_written n s y place.
Proof.
  intros [C _] F Y a q A W _. exfalso. destruct (C a s y q A W) as (g & G & I).
  enough (In g (filter (meets place) m)) as J by now rewrite F in J. apply filter_In. split; auto.
  unfold meets, inside in *. rewrite andb_true_iff, !Nat.ltb_lt. lia.
Qed.

Lemma read_finds n gone m place m' :
  holds_values n m -> read_place gone m place = Some m' ->
  holds_values n m' /\ forall s y, inside y place -> last_written n s y place.
Proof.
  intros H R. unfold read_place in R. destruct (mem place gone); [easy|].
  destruct (filter (meets place) m) as [|g [|g' l]] eqn:F; [injection R as <-|destruct (is_exact place g) eqn:X|];
    try easy.
  - split; [|intros s y; now apply (untouched n m)]. split.
    + intros a s y q A W. destruct (proj1 H a s y q A W) as (g & G & I). exists g. split; auto. now right.
    + intros g s y [<-|G] Y; [now apply (untouched n m)|now apply H].
  - injection R as <-. split; auto. intros s y Y. unfold is_exact in X. rewrite !andb_true_iff, !Nat.eqb_eq in X.
    destruct X as [[Lo Hi] <-]. apply H; [|unfold inside in Y; lia].
    assert (In g (filter (meets (owner g)) m)) as G by (rewrite F; now left). now apply filter_In in G.
Qed.

Lemma reads_find n gone l : forall m m', holds_values n m -> read_all gone m l = Some m' ->
  holds_values n m' /\ forall place s y, In place l -> inside y place -> last_written n s y place.
Proof.
  induction l as [|place l IH]; intros m m' H E; simpl in E; [injection E as <-; now split|].
  destruct (read_place gone m place) as [m1|] eqn:R; [|easy]. destruct (read_finds n gone m place m1 H R) as [H1 F1].
  destruct (IH m1 m' H1 E) as [H2 F2]. split; auto. intros q s y [<-|Q]; auto.
Qed.

Lemma cut_inside place g h y :
  In h (cut place g) -> low h <= y < high h -> owner h = owner g /\ low g <= y < high g /\ ~ inside y place.
Proof.
  unfold cut, inside. intros I. apply in_app_iff in I as [I|I].
  - destruct (Nat.ltb_spec (low g) (from place)); [|easy]. destruct I as [<-|[]]. simpl. lia.
  - destruct (Nat.ltb_spec (up_to place) (high g)); [|easy]. destruct I as [<-|[]]. simpl. lia.
Qed.

Lemma cut_keeps place g y : low g <= y < high g -> ~ inside y place -> exists h, In h (cut place g) /\
  low h <= y < high h.
Proof.
  unfold cut, inside. intros I N. destruct (le_lt_dec (from place) y).
  - eexists. split; [apply in_app_iff; right; destruct (Nat.ltb_spec (up_to place) (high g)); [now left|lia]|simpl;
    lia].
  - eexists. split; [apply in_app_iff; left; destruct (Nat.ltb_spec (low g) (from place)); [now left|lia]|simpl; lia].
Qed.

(** The same between the writes of a row: the places of [did] are written. *)
Definition holds_between n did (m : list shadow) : Prop :=
  (forall a s y q, a < n /\ wrote a s y q \/ In q did /\ inside y q -> exists g, In g m /\ low g <= y < high g) /\
  (forall g s y, In g m -> low g <= y < high g ->
     In (owner g) did /\ inside y (owner g) \/ (forall q, In q did -> ~ inside y q) /\ last_written n s y (owner g)).

Lemma writes_hold base n l : forall did m, holds_between n did m ->
  exists did', (forall q, In q did' <-> In q l \/ In q did) /\ holds_between n did' (fold_left (write_place base) l m).
Proof.
  induction l as [|place l IH]; intros did m H; simpl; [exists did; split; auto; tauto|].
  destruct (IH (place :: did) (write_place base m place)) as (did' & D & H'); [|exists did'; split; auto; simpl in D].
  2: { intros q. rewrite D. tauto. }
  assert (forall y, inside y place -> exists g, In g (write_place base m place) /\ low g <= y < high g) as Fresh
    by (intros y Y; eexists; split; [now left|exact Y]).
  split.
  - intros a s y q U. assert (inside y place \/ ~ inside y place) as [Y|N] by (unfold inside; lia); auto.
    destruct (proj1 H a s y q) as (g & G & Y).
    { destruct U as [U|[[<-|Q] Y]]; auto. easy. }
    destruct (cut_keeps place g y Y N) as (h & I & Yh). exists h. split; auto. right. apply in_flat_map. eauto.
  - intros h s y [<-|I] Y; [left; split; [now left|exact Y]|].
    apply in_flat_map in I as (g & G & I). destruct (cut_inside place g h y I Y) as (-> & Yg & N).
    destruct (proj2 H g s y G Yg) as [[D Yo]|[D L]]; [left; split; auto; now right|right].
    split; auto. intros q [<-|Q]; auto.
Qed.

Lemma writes_apart_same l : writes_apart l = true -> forall a b y, In a l -> In b l -> inside y a -> inside y b -> a =
  b.
Proof.
  induction l as [|h l IH]; simpl; [easy|]. intros H. apply andb_true_iff in H as [F H]. rewrite forallb_forall in F.
  assert (forall b y, In b l -> inside y h -> inside y b -> h = b) as One.
  { intros b y B Y Y'. specialize (F b B). apply orb_true_iff in F as [F|F]; [now apply Nat.eqb_eq|].
    unfold meet, inside in *. apply negb_true_iff, andb_false_iff in F. rewrite !Nat.ltb_ge in F. lia. }
  intros a b y [<-|A] [<-|B] Ya Yb; eauto. symmetry. eauto.
Qed.

Lemma rows_hold l : forall i gone m s gone' m' s',
  i + length l = length rows -> l = skipn i rows -> holds_values (i * ranks) m ->
  check_rows (i * ranks) l gone m s = Some (gone', m', s') ->
  holds_values n_tasks m' /\
  forall j, i <= j < length rows -> row_apart (nth j rows no_row) = true /\
    forall place, In place (used (read_places (nth j rows no_row))) ->
    forall s y, inside y place -> last_written (j * ranks) s y place.
Proof.
  induction l as [|w l IH]; intros i gone m s gone' m' s' L E H C; simpl in *.
  - injection C as _ <- _. replace (length rows) with i by lia. split; auto. lia.
  - destruct (read_all gone m (used (read_places w))) as [m1|] eqn:Rd; [|easy].
    destruct (row_apart w) eqn:Apart; [|easy].
    destruct (check_tasks w m1 (i * ranks) (seq 0 ranks) s) as [s1|] eqn:Ts; [|easy].
    destruct (next_row i w l L E) as [Wi El]. set (base := i * ranks) in *.
    destruct (reads_find base gone _ m m1 H Rd) as [[Cov Own] Found].
    assert (holds_values (base + ranks) (leave_row w base m1)) as H'.
    { destruct (writes_hold base base (used (written_places w)) [] (add_readers w base m1)) as (did & D & [C1 O1]).
      - split.
        + intros a q y place [[A W]|[[] _]]. destruct (Cov a q y place A W) as (g & G & Y).
          eexists. split; [apply in_map; exact G|exact Y].
        + intros g q y G Y. right. split; [easy|]. apply in_map_iff in G as (g0 & <- & G). simpl in *. auto.
      - assert (forall q, In q did <-> In q (used (written_places w))) as Did by (intros q; rewrite D; simpl; tauto).
        assert (forall a q y place, base <= a < base + ranks -> wrote a q y place ->
                  In place (used (written_places w)) /\ inside y place) as Now.
        { intros a q y place A (j & J & Q & -> & I & Y). assert (j = i) as -> by (unfold base in A; nia).
          now rewrite <- Wi. }
        split.
        + intros a q y place A W. destruct (le_lt_dec base a).
          * destruct (Now a q y place) as [I Y]; auto. apply (C1 a q y place). right. split; auto. now apply Did.
          * apply (C1 a q y place). auto.
        + intros g q y G Y a place A W Last. unfold leave_row in G. destruct (O1 g q y G Y) as [[Do Yo]|[Do Lw]].
          * destruct (le_lt_dec base a).
            -- destruct (Now a q y place) as [I Yp]; auto. unfold row_apart in Apart. apply andb_true_iff in Apart
              as [Ap _].
               apply (writes_apart_same _ Ap place (owner g) y); auto. now apply Did.
            -- exfalso. destruct W as (j & J & Q & _). apply (Last (base + q) (owner g)); [lia|].
               exists i. split; [lia|]. split; [easy|]. split; [easy|]. split; [now rewrite Wi; apply Did|easy].
          * destruct (le_lt_dec base a).
            -- exfalso. destruct (Now a q y place) as [I Yp]; auto. apply (Do place); auto. now apply Did.
            -- apply (Lw a place); auto. intros b q' B. apply Last. lia. }
    replace (base + ranks) with (S i * ranks) in * by (unfold base; lia).
    destruct (IH (S i) _ _ _ _ _ _ ltac:(lia) El H' C) as [Hn Later]. split; auto.
    intros j J. destruct (Nat.eq_dec j i) as [->|]; [|apply Later; lia]. rewrite Wi. auto.
Qed.
End Walked.
End Program.

(** * The theorem: a table that prove_program accepts is safe, byte by byte of every rank's memory *)
Section Proved.
Variable ranks : nat.
Variable ranges : list (nat * nat).
Variable rows : list row.
Variable homes : list nat.
Variable x : table.
Hypothesis accepted : prove_program ranks ranges rows homes x = true.
Notation p := (plan_of ranks ranges rows x).

Lemma accepted_walk :
  queue_count x = ranks * queues_of_a_rank x /\
  (forall t, t < length rows * ranks -> rightly_walked ranks x t) /\
  (forall q, q < queue_count x -> tasks_of x q = walked x q (length rows * ranks)) /\
  exists out, check_rows ranks ranges x 0 rows [] [] at_start = Some out.
Proof.
  unfold prove_program in accepted. apply andb_true_iff in accepted as [Q H]. apply Nat.eqb_eq in Q.
  destruct (check_rows ranks ranges x 0 rows [] [] at_start) as [[[gone m] s]|] eqn:C; [|easy].
  apply andb_true_iff in H as [D _]. rewrite forallb_forall in D.
  destruct (rows_walked ranks ranges x Q rows 0 [] [] at_start gone m s) as [Cn R]; auto.
  { destruct ranks; [easy|]. now apply Nat.mod_0_l. }
  { intros q _. split; reflexivity. }
  split; [exact Q|]. split; [intros t T; apply R; lia|]. split; [|eauto].
  intros q L. destruct (Cn q L) as [_ F]. simpl in F. specialize (D q). rewrite in_seq, Nat.eqb_eq in D.
  rewrite D, firstn_all in F by lia. exact F.
Qed.

Theorem prove_program_sound : safe p.
Proof.
  destruct accepted_walk as (Q & R & A & out & C).
  pose proof (order_of_walk ranks ranges rows x Q R A) as O.
  unfold safe. rewrite no_race_iff. split; [apply runs_once|]. split; [now apply (accepted_placed p _ _ O)|].
  split; [now apply (accepted_completes p _ _ O)|]. intros a b [AB B] Cf. rewrite size_plan in B.
  apply (rows_follow ranks ranges rows x Q R A rows 0 [] [] at_start out); auto; simpl; try lia.
  - intros a0 s y w [L _]. lia.
  - intros a0 s y w [L _]. lia.
  - intros q w. simpl. lia.
Qed.

(** A task reads what was written last to the same place: in reference order, and, as the plan is safe, in every
    interleaving. *)
Theorem reads_find_their_places i r place s y :
  i < length rows -> r < ranks -> In place (used ranges (read_places (nth i rows no_row))) ->
  In s (senders_of (nth i rows no_row) r) -> inside ranges y place ->
  last_written ranks ranges rows (i * ranks + r) s y place.
Proof.
  intros I R Pl S Y. destruct accepted_walk as (Q & Rt & A & [[gone m] s'] & C).
  destruct (rows_hold ranks ranges rows x Q rows 0 [] [] at_start gone m s') as [_ F]; auto.
  { split; [intros a q z place' L; simpl in L; lia|easy]. }
  intros a q L W Last. destruct (le_lt_dec (i * ranks) a) as [Lo|Lo].
  - exfalso. destruct W as (j & J & Sr & -> & Iq & Yq). assert (j = i) as -> by nia.
    assert (s = r); [|lia]. destruct (F i) as [Apart _]; [lia|]. now apply (own_memory ranges _ Apart r s y place q).
  - destruct (F i) as [_ Found]; [lia|]. apply (Found place Pl s y Y a q); auto. intros b q' B. apply Last. lia.
Qed.

(** At the end the homes hold what was written to them last. *)
Theorem homes_are_whole home s y :
  In home homes -> inside ranges y home -> last_written ranks ranges rows (length rows * ranks) s y home.
Proof.
  intros Hm Y. destruct accepted_walk as (Q & Rt & A & [[gone m] s'] & C).
  destruct (rows_hold ranks ranges rows x Q rows 0 [] [] at_start gone m s') as [H _]; auto.
  { split; [intros a q z place' L; simpl in L; lia|easy]. }
  pose proof accepted as Ac. unfold prove_program in Ac. rewrite C in Ac. rewrite !andb_true_iff, !forallb_forall in Ac.
  destruct Ac as [_ [_ W]]. specialize (W home Hm). apply andb_true_iff in W as [_ W]. unfold is_whole in W.
  destruct (filter (meets ranges home) m) as [|g [|g' l]] eqn:F; [eapply untouched; eauto| |easy].
  unfold is_exact in W. rewrite !andb_true_iff, !Nat.eqb_eq in W. destruct W as [[Lo Hi] <-].
  apply H; [|unfold inside in Y; lia].
  assert (In g (filter (meets ranges (owner g)) m)) as G by (rewrite F; now left). now apply filter_In in G.
Qed.

(** And its waits are what the plan's waits are. *)
Theorem waits_are_words s t w k :
  reachable p s -> t < length rows * ranks -> In (w, k) (waits_of x t) ->
  (word_reached x (ended s) (standing x t) w k <-> k <= signalled p (fun a => mem a (ended s)) w).
Proof. destruct accepted_walk as (Q & R & A & _). now apply words_are_counters. Qed.
End Proved.

Print Assumptions prove_program_sound.
Print Assumptions reads_find_their_places.
Print Assumptions homes_are_whole.
Print Assumptions waits_are_words.

(** * An accepted and two refused tables

    One rank has two queues. The first row writes place 0 on queue 0, the second reads it and writes place 1 on queue 1.
    With a wait for the first task of queue 0 the table is accepted. Without it the table is refused, and indeed it is
    not safe. With place 1 on the addresses of place 0 the second task would overwrite what it reads. *)
Definition use_after_write := [Row [] [0] false [] []; Row [0] [1] false [] []].
Definition two_queues (waits_of_reader : list (nat * nat)) := Table [[0]; [1]] 2 [[]; waits_of_reader] [[1]; []].
Definition proof (second : nat) (waits_of_reader : list (nat * nat)) : bool :=
  prove_program 1 [(0, 64); (second, second + 64)] use_after_write [1] (two_queues waits_of_reader).

Compute proof 64 [(0, 1)].
Compute proof 64 [].
Compute proof 32 [(0, 1)].
Example accepted_table : proof 64 [(0, 1)] = true.
Proof. reflexivity. Qed.
Example accepted_table_is_safe :
  safe (plan_of 1 [(0, 64); (64, 128)] use_after_write (two_queues [(0, 1)])).
Proof. exact (prove_program_sound 1 [(0, 64); (64, 128)] use_after_write [1] (two_queues [(0, 1)]) accepted_table). Qed.
Example refused_table : proof 64 [] = false.
Proof. reflexivity. Qed.
Example refused_table_is_not_safe : ~ safe (plan_of 1 [(0, 64); (64, 128)] use_after_write (two_queues [])).
Proof. rewrite <- check_exactly_exact. discriminate. Qed.
Example refused_places : proof 32 [(0, 1)] = false.
Proof. reflexivity. Qed.
