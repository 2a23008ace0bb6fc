# SPDX-License-Identifier: Apache-2.0
#
# Constant evaluation of a graph of tens of thousands of tasks takes more steps than the compilers allow by default.
# The options only raise ceilings; a translation unit that stays below pays nothing for them.
set(hyperparallel_gnu_limits -fconstexpr-ops-limit=4294967296 -fconstexpr-loop-limit=16777216)
set(hyperparallel_clang_limits -fconstexpr-steps=2147483647 -fbracket-depth=1024)

function(hyperparallel_raise_constexpr_limits target)
  target_compile_options(
    ${target} INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${hyperparallel_gnu_limits}>"
                        "$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:${hyperparallel_clang_limits}>")
endfunction()
