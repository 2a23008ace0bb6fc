(* SPDX-License-Identifier: Apache-2.0 *)
(* The local rule, the check of addresses, the exact checker and the proof of tables as a program in OCaml, for compare.ml. Natural numbers become int. *)
From Coq Require Import ExtrOcamlBasic ExtrOcamlNatInt.
From hyperparallel Require Import model verify exact addresses program_proof.
Extraction Language OCaml.
Extraction "checker.ml" verify.verify verify.verify_order verify.verify_partial_waits verify.verify_conflicts
  exact.check_exactly addresses.check_flow program_proof.prove_program.
