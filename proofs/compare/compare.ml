(* SPDX-License-Identifier: Apache-2.0 *)
(* Reads plans and tables with the verdicts of the C++, in the formats of plans.cpp and tables.cpp, and holds them against
   the functions that are extracted from the proofs. Prints the verdicts by class of plan. Exit status 1 where any verdict differs, where a class
   of changes has no plan that both refuse, or where an unchanged class has none that both accept. Changes of memory are for
   check_flow to refuse, all others for verify.

     compare COUNT          at least COUNT plans or tables are expected
     compare --difference   stops at the first difference; exit status 0 if there is one *)
open Checker

type tally = { mutable plans : int; mutable accepted : int; mutable refused : int;
               mutable cpp_alone : int; mutable model_alone : int; mutable exact_differs : int;
               mutable placed : int; mutable misplaced : int; mutable flow_differs : int }
let empty () = { plans = 0; accepted = 0; refused = 0; cpp_alone = 0; model_alone = 0; exact_differs = 0;
                 placed = 0; misplaced = 0; flow_differs = 0 }
let differences t = t.cpp_alone + t.model_alone + t.exact_differs + t.flow_differs

(* The exact checker of the model is slow, and is asked of plans of so many tasks at most. *)
let most_tasks_of_exact = 6

(* What plans.cpp adds to the intervals of accesses. *)
let above_negative = 64
let whole_slot = 1 lsl 30

(* The numbers of a line behind its name, one after the other. *)
let rec times n f = if n = 0 then [] else let v = f () in v :: times (n - 1) f
let numbers words =
  let place = ref 1 in
  let next () = let v = int_of_string words.(!place) in incr place; v in
  let finish () = if !place <> Array.length words then failwith "a line of another length than its counts say" in
  (next, finish)

let read_plan words =
  let (next, finish) = numbers words in
  let listed f = times (next ()) f in
  let code = next () in
  let safe = next () = 1 in
  let task_count = next () in
  let queue_count = next () in
  let queue = ref [] in
  let tasks = times task_count (fun () ->
    let waits = listed (fun () -> let e = next () in let k = next () in (e, k)) in
    let signals = listed next in
    let accesses = listed (fun () ->
      let slot = next () in let first = next () in let past = next () in
      { slot; first; past; writes = next () = 1 }) in
    queue := next () :: !queue;
    let pool = next () in
    { pool; waits; signals; accesses }) in
  let order = listed next in
  let queues = times queue_count (fun () -> listed next) in
  let pools = times queue_count next in
  let run_lengths = listed next in
  let flow_code = next () in
  let ranks = next () in
  let capacity = listed next in
  let slots = listed (fun () ->
    let rank = next () in let tier = next () in let offset = next () in
    { rank; tier; offset; bytes = next () }) in
  finish ();
  (code, safe, { tasks; queues; pools }, order, List.rev !queue, run_lengths, (flow_code, ranks, capacity, slots))

(* The model of check_flow, of plans whose accesses and slots are natural numbers. *)
let check_memory p slots ranks capacity =
  let moved u = { u with first = u.first - above_negative;
                         past = (if u.past = whole_slot + above_negative then whole_slot else u.past - above_negative) } in
  let p = { p with tasks = List.map (fun k -> { k with accesses = List.map moved k.accesses }) p.tasks } in
  let natural = List.for_all (fun k -> List.for_all (fun u -> u.first >= 0 && u.past >= 0) k.accesses) p.tasks
    && List.for_all (fun s -> s.rank >= 0 && s.tier >= 0 && s.offset >= 0 && s.bytes >= 0) slots in
  natural && check_flow p slots ranks capacity whole_slot

(* The code of a table, and the verdict of the model. *)
let read_table words =
  let (next, finish) = numbers words in
  let listed f = times (next ()) f in
  let list () = listed next in
  let code = next () in
  let ranks = next () in
  let queues_of_a_rank = next () in
  let ranges = listed (fun () -> let first = next () in (first, next ())) in
  let homes = list () in
  let rows = listed (fun () ->
    let read_places = list () in
    let written_places = list () in
    let pulls = next () = 1 in
    let senders = listed list in
    { read_places; written_places; pulls; senders; detached = list () }) in
  let table_queues = listed list in
  let of_tasks = listed (fun () ->
    let waits = listed (fun () -> let word = next () in (word, next ())) in
    (waits, list ())) in
  finish ();
  (code, prove_program ranks ranges rows homes
     { table_queues; queues_of_a_rank; table_waits = List.map fst of_tasks; told = List.map snd of_tasks })

let () =
  let stops = Sys.argv.(1) = "--difference" in
  let expected = if stops then 0 else int_of_string Sys.argv.(1) in
  let tallies = Hashtbl.create 64 and names = ref [] in
  let all = ref 0 and asked = ref 0 and shown = ref 0 and bad = ref false in
  let show what line = if !shown < 3 then (incr shown; Printf.printf "%s: %s\n" what line) in
  (try while true do
    let line = input_line stdin in
    let words = Array.of_list (String.split_on_char ' ' line) in
    let name = words.(0) in
    let t = match Hashtbl.find_opt tallies name with
      | Some t -> t
      | None ->
        let t = empty () in
        names := name :: !names; Hashtbl.add tallies name t; t in
    incr all;
    t.plans <- t.plans + 1;
    let judge code model why = match code = 0, model with
      | true, true -> t.accepted <- t.accepted + 1
      | false, false -> t.refused <- t.refused + 1
      | true, false -> t.cpp_alone <- t.cpp_alone + 1; show ("C++ alone accepts" ^ why ()) line
      | false, true -> t.model_alone <- t.model_alone + 1;
        show (Printf.sprintf "the model alone accepts (C++: code %d)" code) line in
    if String.length name > 6 && String.sub name 0 6 = "table:" then begin
      let (code, model) = read_table words in
      if code < 2 then judge code model (fun () -> "")
    end else begin
      let (code, safe, p, order, queue, run_lengths, (flow_code, ranks, capacity, slots)) = read_plan words in
      judge code (verify p order queue run_lengths) (fun () ->
        Printf.sprintf " (of the model: order %b, thresholds %b, conflicts %b)"
          (verify_order p order queue) (verify_partial_waits p order queue) (verify_conflicts p order queue run_lengths));
      if List.length p.tasks <= most_tasks_of_exact then begin
        incr asked;
        if check_exactly p <> safe then (t.exact_differs <- t.exact_differs + 1; show "the exact checkers differ" line)
      end;
      match flow_code, flow_code < 2 && check_memory p slots ranks capacity with
      | 0, true -> t.placed <- t.placed + 1
      | 1, false -> t.misplaced <- t.misplaced + 1
      | 0, false -> t.flow_differs <- t.flow_differs + 1; show "C++ alone accepts (memory)" line
      | 1, true -> t.flow_differs <- t.flow_differs + 1; show "the model alone accepts (memory)" line
      | _ -> ()
    end;
    if stops && differences t > 0 then begin
      Printf.printf "plan %d differs, class %s\n" !all name;
      exit 0
    end
  done with End_of_file -> ());
  if stops then (Printf.printf "%d plans, none differs\n" !all; exit 1);
  Printf.printf "%-44s %7s %9s %8s %10s %12s %14s %7s %10s %13s\n" "class" "plans" "accepted" "refused" "C++ alone"
    "model alone" "exact differs" "placed" "misplaced" "differs";
  let sum = empty () in
  let print name t = Printf.printf "%-44s %7d %9d %8d %10d %12d %14d %7d %10d %13d\n"
    (String.map (fun c -> if c = '_' then ' ' else c) name) t.plans t.accepted t.refused t.cpp_alone
    t.model_alone t.exact_differs t.placed t.misplaced t.flow_differs in
  let unchanged = [ "table:whole"; "real"; "scheduled_runs"; "random"; "random_real"; "waits_alone" ] in
  List.iter (fun name ->
    let t = Hashtbl.find tallies name in
    print name t;
    sum.plans <- sum.plans + t.plans; sum.accepted <- sum.accepted + t.accepted; sum.refused <- sum.refused + t.refused;
    sum.cpp_alone <- sum.cpp_alone + t.cpp_alone; sum.model_alone <- sum.model_alone + t.model_alone;
    sum.exact_differs <- sum.exact_differs + t.exact_differs; sum.placed <- sum.placed + t.placed;
    sum.misplaced <- sum.misplaced + t.misplaced; sum.flow_differs <- sum.flow_differs + t.flow_differs;
    if (if List.mem name unchanged then t.accepted else if name = "memory_changed" then min t.placed t.misplaced else t.refused)
       = 0 then
      (bad := true; Printf.printf "class %s shows nothing\n" name)) (List.rev !names);
  print "all" sum;
  Printf.printf "the exact checkers were asked %d times\n" !asked;
  if !all < expected then (bad := true; Printf.printf "%d plans, fewer than %d\n" !all expected);
  if !bad || differences sum > 0 then exit 1
