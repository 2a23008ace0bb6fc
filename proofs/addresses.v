(* SPDX-License-Identifier: Apache-2.0 *)
(* Addresses instead of slots: a plan that check_flow and verify accept is safe in memory.

   [verify] speaks of slots. What a machine has is memory: bytes of a tier on a rank. The model of what
   include/hyperparallel/taskflow/flow_check.hpp says about slots and accesses: a slot is a range of bytes inside its
   tier, no two share a byte, and an access stays inside its slot. The rest of check_flow is not modelled: [verify]
   takes no count of the builder for granted, and proves an order of its own. *)
From Coq Require Import List Arith Lia Bool Permutation Sorted Mergesort Orders.
From hyperparallel Require Import model exact verify.
Import ListNotations.

(** * Definitions that have to be believed *)

(** A slot is the bytes [offset <= byte < offset + bytes] of a tier on a rank. *)
Record range := Range { rank : nat; tier : nat; offset : nat; bytes : nat }.

(** Two ranges are apart if they share no byte of the same tier and rank. *)
Definition inside_range (byte : nat) (s : range) : Prop := offset s <= byte < offset s + bytes s.
Definition apart_in_memory (s s' : range) : Prop :=
  rank s = rank s' -> tier s = tier s' -> forall byte, inside_range byte s -> inside_range byte s' -> False.

Section Addresses.
Variable p : plan.
(** The range of each slot. *)
Variable slots : list range.
Variable ranks : nat.
(** The bytes of each tier on every rank. *)
Variable capacity : list nat.
(** A past that stands for the end of the slot, whatever its units; [whole_slot] in C++. *)
Variable whole : nat.
(** The bytes of one unit of a slot, whose accesses may count bytes, rows or tiles. A flow does not say it. *)
Variable unit_bytes : nat -> nat.

Definition fits (s : range) : Prop :=
  rank s < ranks /\ tier s < length capacity /\ offset s + bytes s <= nth (tier s) capacity 0.

(** Access [u] touches a byte of tier [t] on rank [r]. *)
Definition touches (u : access) (r t byte : nat) : Prop :=
  exists s, nth_error slots (slot u) = Some s /\ rank s = r /\ tier s = t /\
    offset s + first u * unit_bytes (slot u) <= byte /\
    byte < offset s + (if past u =? whole then bytes s else past u * unit_bytes (slot u)).

(** Two tasks conflict in memory if they touch the same byte and one of the two writes. *)
Definition conflict_in_memory (a b : nat) : Prop :=
  exists u v r t byte, In u (accesses (task_at p a)) /\ In v (accesses (task_at p b)) /\
    touches u r t byte /\ touches v r t byte /\ writes u || writes v = true.
Definition race_in_memory (a b : nat) : Prop :=
  a < b < size p /\ conflict_in_memory a b /\ exists s, reachable p s /\ In b (begun s) /\ ~ In a (ended s).

(** No task touches a byte that the machine does not have. *)
Definition inside_the_machine : Prop :=
  forall a u r t byte, In u (accesses (task_at p a)) -> touches u r t byte ->
    r < ranks /\ t < length capacity /\ byte < nth t capacity 0.

Definition safe_in_memory : Prop :=
  exactly_once p /\ rightly_placed p /\ completes p /\ inside_the_machine /\ forall a b, ~ race_in_memory a b.

(** What check_flow cannot see, as no flow says how large a unit is: that units beyond the first byte of the slot end
    with it. For units of one byte it is what check_flow checks. *)
Definition units_fit : Prop :=
  forall a u s, In u (accesses (task_at p a)) -> nth_error slots (slot u) = Some s -> past u <> whole ->
    past u * unit_bytes (slot u) <= bytes s.

(** * The check *)
Definition is_inside (s : range) : bool :=
  (rank s <? ranks) && (tier s <? length capacity) && (offset s + bytes s <=? nth (tier s) capacity 0).
Definition check_access (u : access) : bool :=
  match nth_error slots (slot u) with
  | Some s => (first u <? past u) && ((past u =? whole) || (past u <=? bytes s) && (past u <? whole))
  | None => false
  end.

Definition same_memory (a b : range) : bool := (rank a =? rank b) && (tier a =? tier b).
(** The order of ranges; [before] in C++. *)
Definition precedes (a b : range) : bool :=
  (rank a <? rank b) || (rank a =? rank b) && ((tier a <? tier b) || (tier a =? tier b) && (offset a <? offset b)).

(** One pass: whether the ranges that are not empty are in order, and whether no neighbours share a byte. *)
Fixpoint pass (last : option range) (l : list range) : bool * bool :=
  match l with
  | [] => (true, true)
  | s :: r =>
      if bytes s =? 0 then pass last r
      else
        let (sorted, disjoint) := pass (Some s) r in
        match last with
        | None => (sorted, disjoint)
        | Some a => if negb (same_memory a s) then (sorted && negb (precedes s a), disjoint)
                    else if offset s <? offset a + bytes a then (sorted && (offset a <=? offset s), false)
                    else (sorted, disjoint)
        end
  end.
End Addresses.

Module Address_order <: TotalLeBool.
  Definition t := range.
  Definition leb (a b : range) := negb (precedes b a).
  Lemma leb_total a b : leb a b = true \/ leb b a = true.
  Proof.
    unfold leb. rewrite !negb_true_iff, <- !not_true_iff_false. unfold precedes.
    rewrite !orb_true_iff, !andb_true_iff, !orb_true_iff, !andb_true_iff, !Nat.ltb_lt, !Nat.eqb_eq. lia.
  Qed.
End Address_order.
Module Address_sort := Sort Address_order.

Section Checked.
Variable p : plan.
Variable slots : list range.
Variable ranks : nat.
Variable capacity : list nat.
Variable whole : nat.

(** Slots that are written in the order of addresses are passed once; others are sorted first. *)
Definition check_slots : bool :=
  forallb (is_inside ranks capacity) slots &&
  (let (sorted, disjoint) := pass None slots in
   if sorted then disjoint else snd (pass None (Address_sort.sort slots))).
Definition check_flow : bool :=
  forallb (fun k => forallb (check_access slots whole) (accesses k)) (tasks p) && check_slots.

(** * The check of slots is exact *)

(** Range [a] lies ahead of [b]. *)
Definition ahead (a b : range) : Prop :=
  rank a < rank b \/ rank a = rank b /\ (tier a < tier b \/ tier a = tier b /\ offset a + bytes a <= offset b).

Lemma ahead_apart a b : ahead a b -> apart_in_memory a b.
Proof. unfold ahead, apart_in_memory, inside_range. lia. Qed.
Lemma empty_apart a b : bytes a = 0 \/ bytes b = 0 -> apart_in_memory a b.
Proof. unfold apart_in_memory, inside_range. lia. Qed.
Lemma apart_sym a b : apart_in_memory a b -> apart_in_memory b a.
Proof. unfold apart_in_memory. intros H R T x A B. apply (H (eq_sym R) (eq_sym T) x); auto. Qed.

Ltac by_fields :=
  unfold ahead, same_memory, Address_order.leb, precedes in *;
  repeat rewrite ?andb_true_iff, ?orb_true_iff, ?negb_false_iff, ?negb_true_iff, <- ?not_true_iff_false, ?Nat.ltb_lt,
    ?Nat.eqb_eq,
    ?Nat.leb_le in *; lia.

Lemma pass_ahead l : forall a, pass (Some a) l = (true, true) -> Forall (fun s => bytes s = 0 \/ ahead a s) l.
Proof.
  induction l as [|s l IH]; intros a H; simpl in H; constructor.
  - destruct (Nat.eqb_spec (bytes s) 0); [auto|right]. destruct (pass (Some s) l) as [so di].
    destruct (negb (same_memory a s)) eqn:M; [injection H as H _; by_fields|].
    destruct (offset s <? offset a + bytes a) eqn:O; [easy|]. by_fields.
  - destruct (Nat.eqb_spec (bytes s) 0); [auto|]. destruct (pass (Some s) l) as [so di] eqn:P.
    assert (ahead a s /\ so = true /\ di = true) as (A & -> & ->).
    { destruct (negb (same_memory a s)) eqn:M; [injection H as H ->; apply andb_true_iff in H as [-> H]; by_fields|].
      destruct (offset s <? offset a + bytes a) eqn:O; [easy|]. injection H as -> ->. by_fields. }
    specialize (IH s P). eapply Forall_impl; [|exact IH]. simpl. intros x [|X]; auto. right. by_fields.
Qed.

Lemma pass_tail l a s : bytes s <> 0 -> pass (Some a) (s :: l) = (true, true) -> pass (Some s) l = (true, true).
Proof.
  simpl. intros N. destruct (Nat.eqb_spec (bytes s) 0); [easy|]. destruct (pass (Some s) l) as [so di].
  destruct (negb _); [intros H; injection H as H ->; apply andb_true_iff in H as [-> _]; auto|].
  destruct (_ <? _); [easy|auto].
Qed.

Lemma pass_sound l : forall last, pass last l = (true, true) -> ForallOrdPairs apart_in_memory l.
Proof.
  induction l as [|s l IH]; intros last H; constructor.
  - destruct (Nat.eq_dec (bytes s) 0) as [E|N].
    + apply Forall_forall. intros x _. apply empty_apart. auto.
    + assert (pass (Some s) l = (true, true)) as T.
      { destruct last as [a|]; [now apply (pass_tail l a)|]. simpl in H.
        destruct (Nat.eqb_spec (bytes s) 0); [easy|]. now destruct (pass (Some s) l). }
      eapply Forall_impl; [|apply (pass_ahead _ _ T)].
      simpl. intros x [X|X]; [apply empty_apart; auto|now apply ahead_apart].
  - simpl in H. destruct (Nat.eqb_spec (bytes s) 0) as [E|N]; [now apply (IH last)|]. apply (IH (Some s)).
    destruct last as [a|]; [apply (pass_tail l a); auto; simpl; now destruct (Nat.eqb_spec (bytes s) 0)|].
    now destruct (pass (Some s) l).
Qed.

(** A pass over ranges in order that finds two that share a byte is right. *)
Lemma pass_complete l : forall last,
  fst (pass last l) = true -> ForallOrdPairs apart_in_memory l ->
  match last with Some a => bytes a <> 0 /\
    Forall (apart_in_memory a) l | None => True end -> pass last l = (true, true).
Proof.
  induction l as [|s l IH]; intros last S A L; simpl in *; auto. inversion_clear A as [|? ? As Al].
  destruct (Nat.eqb_spec (bytes s) 0) as [E|N].
  - apply IH; auto. destruct last; auto. destruct L as [L F]. now inversion_clear F.
  - assert (fst (pass (Some s) l) = true -> pass (Some s) l = (true, true)) as Rest by (intros; now apply IH).
    destruct (pass (Some s) l) as [so di] eqn:P. destruct last as [a|]; [|now apply Rest].
    destruct (negb (same_memory a s)) eqn:M.
    + simpl in S. apply andb_true_iff in S as [-> ->]. now injection (Rest eq_refl) as ->.
    + destruct (offset s <? offset a + bytes a) eqn:O; [exfalso|now apply Rest].
      destruct L as [La F]. inversion_clear F as [|? ? X _]. simpl in S. apply andb_true_iff in S as [_ S].
      apply negb_false_iff, andb_true_iff in M as [Mr Mt]. apply Nat.eqb_eq in Mr, Mt. apply Nat.leb_le in S.
      apply Nat.ltb_lt in O. apply (X Mr Mt (offset s)); unfold inside_range; lia.
Qed.

Lemma sorted_pass l : forall last,
  StronglySorted (fun a b => Address_order.leb a b = true) l ->
  match last with Some a => Forall (fun s => Address_order.leb a s = true) l | None => True end ->
  fst (pass last l) = true.
Proof.
  induction l as [|s l IH]; intros last S F; simpl; auto. inversion_clear S as [|? ? Sl Fs].
  destruct (bytes s =? 0).
  - apply IH; auto. destruct last; auto. now inversion_clear F.
  - specialize (IH (Some s) Sl Fs). destruct (pass (Some s) l) as [so di]. simpl in IH. subst.
    destruct last as [a|]; auto. inversion_clear F as [|? ? La _].
    destruct (negb (same_memory a s)) eqn:M; simpl; [exact La|].
    destruct (_ <? _); simpl; auto. by_fields.
Qed.

Lemma pairs_permuted (l l' : list range) :
  Permutation l l' -> ForallOrdPairs apart_in_memory l -> ForallOrdPairs apart_in_memory l'.
Proof.
  induction 1 as [|x l l' P IH|x y l|l l' l'' P IH P' IH']; auto.
  - intros F. inversion_clear F. constructor; auto. now apply (Permutation_Forall P).
  - intros F. inversion_clear F as [|? ? Fy F']. inversion_clear F' as [|? ? Fx F]. inversion_clear Fy.
    repeat constructor; auto. now apply apart_sym.
Qed.

Lemma leb_trans : Relations_1.Transitive (fun a b => is_true (Address_order.leb a b)).
Proof. intros a b c. unfold is_true. by_fields. Qed.

Lemma is_inside_iff s : is_inside ranks capacity s = true <-> fits ranks capacity s.
Proof. unfold is_inside, fits. rewrite !andb_true_iff, !Nat.ltb_lt, Nat.leb_le. tauto. Qed.

Theorem check_slots_exact :
  check_slots = true <-> (forall s, In s slots -> fits ranks capacity s) /\ ForallOrdPairs apart_in_memory slots.
Proof.
  unfold check_slots. rewrite andb_true_iff, forallb_forall.
  assert ((forall s, In s slots -> is_inside ranks capacity s = true) <-> forall s, In s slots -> fits ranks capacity s)
    as -> by (split; intros H s I; apply is_inside_iff; auto).
  apply and_iff_compat_l. set (sorted := Address_sort.sort slots).
  assert (fst (pass None sorted) = true) as S.
  { apply sorted_pass; auto. apply (Address_sort.StronglySorted_sort slots leb_trans). }
  pose proof (Address_sort.Permuted_sort slots) as P. fold sorted in P.
  destruct (pass None slots) as [so di] eqn:Once. destruct so.
  - split; [intros ->; now apply (pass_sound _ None)|]. intros A.
    pose proof (pass_complete slots None) as C. rewrite Once in C. now injection (C eq_refl A I).
  - split; intros A.
    + apply (pairs_permuted sorted); [now symmetry|]. apply (pass_sound _ None).
      destruct (pass None sorted). simpl in *. congruence.
    + now rewrite (pass_complete sorted None S (pairs_permuted _ _ P A) I).
Qed.

(** * From slots to memory *)
Section Memory.
Variable unit_bytes : nat -> nat.
Hypothesis checked : check_flow = true.
Hypothesis fit : units_fit p slots whole unit_bytes.
Notation touches := (touches slots whole unit_bytes).

Lemma access_checked a u :
  In u (accesses (task_at p a)) ->
  exists s, nth_error slots (slot u) = Some s /\ fits ranks capacity s /\ first u < past u /\
    (past u = whole \/ past u < whole /\ past u <= bytes s).
Proof.
  intros I. unfold check_flow in checked. apply andb_true_iff in checked as [C S]. apply check_slots_exact in S
    as [F _].
  assert (a < size p) as A.
  { destruct (le_lt_dec (size p) a); auto. unfold task_at in I. now rewrite nth_overflow in I. }
  rewrite forallb_forall in C. specialize (C (task_at p a) (nth_In _ _ A)). rewrite forallb_forall in C.
  specialize (C u I). unfold check_access in C. destruct (nth_error slots (slot u)) as [s|] eqn:E; [|easy].
  exists s. rewrite andb_true_iff, orb_true_iff, andb_true_iff, !Nat.ltb_lt, Nat.eqb_eq, Nat.leb_le in C.
  apply nth_error_In in E. specialize (F s E). tauto.
Qed.

Lemma touched_inside a u r t byte :
  In u (accesses (task_at p a)) -> touches u r t byte ->
  exists s, nth_error slots (slot u) = Some s /\ rank s = r /\ tier s = t /\ inside_range byte s.
Proof.
  intros I (s & E & R & T & L & H). exists s. repeat split; auto; [lia|].
  destruct (Nat.eqb_spec (past u) whole) as [|N]; auto. pose proof (fit a u s I E N). lia.
Qed.

Lemma one_slot a b u v r t byte :
  In u (accesses (task_at p a)) -> In v (accesses (task_at p b)) -> touches u r t byte -> touches v r t byte ->
  slot u = slot v.
Proof.
  intros U V Tu Tv. destruct (touched_inside a u r t byte U Tu) as (s & Es & Rs & Ts & Is).
  destruct (touched_inside b v r t byte V Tv) as (s' & Es' & Rs' & Ts' & Is').
  unfold check_flow in checked. apply andb_true_iff in checked as [_ S]. apply check_slots_exact in S as [_ A].
  assert (forall i j x y, i < j -> nth_error slots i = Some x -> nth_error slots j = Some y -> apart_in_memory x y)
    as Far.
  { clear - A. induction slots as [|h l IH]; intros [|i] [|j] x y L X Y; try easy; try lia;
      inversion_clear A as [|? ? F Al].
    - injection X as ->. simpl in Y. apply nth_error_In in Y. rewrite Forall_forall in F. exact (F y Y).
    - apply (IH Al i j); auto. lia. }
  destruct (lt_eq_lt_dec (slot u) (slot v)) as [[L|]|L]; auto; exfalso.
  - apply (Far _ _ _ _ L Es Es') with (byte := byte); auto; congruence.
  - apply (Far _ _ _ _ L Es' Es) with (byte := byte); auto; congruence.
Qed.

Lemma conflict_of_slots a b : conflict_in_memory p slots whole unit_bytes a b -> conflict p a b.
Proof.
  intros (u & v & r & t & byte & U & V & Tu & Tv & W). exists u, v. repeat split; auto.
  - now apply (one_slot a b u v r t byte).
  - pose proof (one_slot a b u v r t byte U V Tu Tv) as S.
    destruct (access_checked a u U) as (s & Es & _ & Fu & Pu). destruct (access_checked b v V)
      as (s' & Es' & _ & Fv & Pv).
    destruct Tu as (x & Ex & _ & _ & Lu & Hu), Tv as (y & Ey & _ & _ & Lv & Hv).
    rewrite <- S in Ey, Lv, Hv. assert (y = x) as -> by congruence. exists (max (first u) (first v)).
    destruct (Nat.eqb_spec (past u) whole), (Nat.eqb_spec (past v) whole); nia.
Qed.

Lemma checked_inside : inside_the_machine p slots ranks capacity whole unit_bytes.
Proof.
  intros a u r t byte U T. destruct (touched_inside a u r t byte U T) as (s & E & <- & <- & I).
  destruct (access_checked a u U) as (s' & E' & (? & ? & ?) & _). assert (s' = s) as -> by congruence.
  unfold inside_range in I. repeat split; auto. lia.
Qed.

Lemma safe_then_safe_in_memory : safe p -> safe_in_memory p slots ranks capacity whole unit_bytes.
Proof.
  intros (O & P & C & R). split; [easy|]. split; [easy|]. split; [easy|]. split; [exact checked_inside|].
  intros a b (L & F & S). apply (R a b). split; [easy|]. split; [now apply conflict_of_slots|easy].
Qed.

(** * The theorem: what check_flow and verify accept is safe in memory *)
Theorem verify_sound_in_memory order queue run_lengths :
  verify p order queue run_lengths = true -> safe_in_memory p slots ranks capacity whole unit_bytes.
Proof. intros V. apply safe_then_safe_in_memory, (verify_sound _ _ _ _ V). Qed.

(** If each access touches at least its first unit, check_exactly is exact in memory, too. Without this premise two
    accesses could share units that no memory lies behind: to the end of a slot from beyond it. *)
Hypothesis units_are_some : forall i, 0 < unit_bytes i.
Hypothesis begin_inside : forall a u s, In u (accesses (task_at p a)) -> nth_error slots (slot u) = Some s ->
  first u * unit_bytes (slot u) < bytes s.

Theorem check_exactly_exact_in_memory :
  check_exactly p = true <-> safe_in_memory p slots ranks capacity whole unit_bytes.
Proof.
  rewrite check_exactly_exact. split; [apply safe_then_safe_in_memory|]. intros (O & P & C & _ & R).
  split; [easy|]. split; [easy|]. split; [easy|]. intros a b (L & (u & v & U & V & (S & i & Iu & Iv) & W) & St).
  apply (R a b). split; [easy|]. split; [|easy].
  destruct (access_checked a u U) as (s & Es & _). assert (nth_error slots (slot v) = Some s) as Ev by congruence.
  exists u, v, (rank s), (tier s), (offset s + max (first u) (first v) * unit_bytes (slot u)).
  pose proof (begin_inside a u s U Es) as Bu. pose proof (begin_inside b v s V Ev) as Bv.
  pose proof (units_are_some (slot u)) as Some_u. rewrite <- S in Bv.
  split; [easy|]. split; [easy|]. split; [|split; [|easy]]; exists s; rewrite <- ?S.
  - split; [easy|]. split; [easy|]. split; [easy|]. destruct (past u =? whole); nia.
  - split; [easy|]. split; [easy|]. split; [easy|]. destruct (past v =? whole); nia.
Qed.
End Memory.

(** In units of bytes nothing has to be taken for granted. *)
Theorem verify_sound_in_bytes order queue run_lengths :
  check_flow = true -> verify p order queue run_lengths = true ->
  safe_in_memory p slots ranks capacity whole (fun _ => 1).
Proof.
  intros C V. refine (verify_sound_in_memory (fun _ => 1) C _ _ _ _ V). intros a u s U E N.
  destruct (access_checked C a u U) as (s' & E' & _ & _ & [|[]]); [easy|]. assert (s' = s) as -> by congruence. lia.
Qed.
End Checked.

Print Assumptions check_slots_exact.
Print Assumptions verify_sound_in_memory.
Print Assumptions check_exactly_exact_in_memory.
Print Assumptions verify_sound_in_bytes.

(** * An accepted and a refused placement

    Two tasks on two queues write two slots, and nothing orders them: [verify] accepts. Whether that is safe in memory
    is for the addresses to say. With 64 bytes each, one behind the other, it is; where the second begins inside the
    first, check_flow refuses, and indeed the two race. *)
Definition two_writers : plan :=
  Plan [Task 0 [] [] [Access 0 0 64 true]; Task 1 [] [] [Access 1 0 64 true]] [[0]; [1]] [0; 1].
Definition placed (second : nat) : list range := [Range 0 0 0 64; Range 0 0 second 64].

Compute check_flow two_writers (placed 64) 1 [128] 1000.
Compute check_flow two_writers (placed 32) 1 [128] 1000.
Example order_accepted : verify two_writers [0; 1] [0; 1] [1; 1] = true.
Proof. reflexivity. Qed.
Example placement_accepted : check_flow two_writers (placed 64) 1 [128] 1000 = true.
Proof. reflexivity. Qed.
Example accepted_is_safe_in_memory : safe_in_memory two_writers (placed 64) 1 [128] 1000 (fun _ => 1).
Proof. exact (verify_sound_in_bytes _ _ _ _ _ _ _ _ placement_accepted order_accepted). Qed.
Example placement_refused : check_flow two_writers (placed 32) 1 [128] 1000 = false.
Proof. reflexivity. Qed.
Example refused_races : race_in_memory two_writers (placed 32) 1000 (fun _ => 1) 0 1.
Proof.
  split; [unfold size; simpl; lia|]. split.
  - exists (Access 0 0 64 true), (Access 1 0 64 true), 0, 0, 32. repeat split; simpl; auto.
    + exists (Range 0 0 0 64). split; [reflexivity|simpl; lia].
    + exists (Range 0 0 32 64). split; [reflexivity|simpl; lia].
  - exists (State [1] []). repeat split; simpl; auto. apply next with (State [] []); [constructor|].
    constructor; simpl; auto; try lia; try easy.
    intros q a [<-|[<-|[]]] ([|x1 [|x2 x]] & y & z & E); try discriminate;
      injection E as E1 E2; try (now destruct y); try (now destruct x).
Qed.
