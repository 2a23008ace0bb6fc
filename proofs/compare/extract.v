(* SPDX-License-Identifier: Apache-2.0 *)
(* The local rule, the check of addresses and the exact checker as a program in OCaml, for compare.ml. Natural numbers become int. *)
From Coq Require Import ExtrOcamlBasic ExtrOcamlNatInt.
From hyperparallel Require Import model verify exact addresses.
Extraction Language OCaml.
Extraction "checker.ml" verify.verify verify.verify_order verify.verify_partial_waits verify.verify_conflicts
  exact.check_exactly addresses.check_flow.
