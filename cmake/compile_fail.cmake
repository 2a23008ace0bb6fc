# SPDX-License-Identifier: Apache-2.0
#
# Negative cases: what is refused, and how.
#   cmake -DCOMPILER=… -DCOMPILER_ID=… -DINCLUDE=… -DUNIT=… -DTESTS=… -DPARTS=… -P compile_fail.cmake
#     compiles the unit of several cases and writes the part of the output that is about each into the folder PARTS
#   cmake -DCOMPILER=… -DCOMPILER_ID=… -DINCLUDE=… -DSOURCE=… [-DPART=…] -P compile_fail.cmake
#     judges one case: by its part, where there is one that holds the law, else by compiling the case alone
#
# Law: without NEGATIVE the file compiles (the twin, which also asserts that the matching concept is false for the mistake;
# tests/compile_fail.cmake builds all twins); with -DNEGATIVE it is refused, the output holds every expected text, and
# exactly one line says "error:".
# Expected texts are comments of the case:
#   // expect: text            on every compiler
#   // expect-gnu: text        g++ only
#   // expect-clang: text      clang only
#
# An accepted case never passes by its part: that passes with exactly one error, which names the case's own file and no
# other case, and in all other cases the lone run decides. What a part cannot tell is a case that has two errors alone, one
# of which the compiler printed for another case of the unit: a template that both name is instantiated once. With
# HYPERPARALLEL_EXHAUSTIVE in the environment every case is compiled alone, as tools/paste_errors.py does, too.
include("${CMAKE_CURRENT_LIST_DIR}/error_parts.cmake")

set(ENV{LC_ALL} C)
if(COMPILER_ID MATCHES "Clang")
  set(family clang)
  set(style -fno-color-diagnostics -fno-caret-diagnostics -ferror-limit=0)
else()
  set(family gnu)
  set(style -fdiagnostics-color=never -fno-diagnostics-show-caret)
endif()
set(compile "${COMPILER}" -std=c++20 -fmessage-length=0 -fsyntax-only ${style} "-I${INCLUDE}" -DNEGATIVE)

if(UNIT)
  # Parts of another run judge nothing.
  file(REMOVE_RECURSE "${PARTS}")
  if(NOT DEFINED ENV{HYPERPARALLEL_EXHAUSTIVE})
    execute_process(COMMAND ${compile} "-I${TESTS}" "${UNIT}" RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(code EQUAL 1)
      hyperparallel_write_error_parts("${output}" "${PARTS}")
    endif()
  endif()
  return()
endif()

# Sets `result` to what `output` lacks of a refusal as the case expects it, empty if nothing.
function(what_is_wrong result output)
  # Brackets and semicolons mean something in CMake lists; only the count of lines matters here.
  string(REGEX REPLACE "[][;]" " " countable "${output}")
  string(REGEX MATCHALL "[^\n]*error:[^\n]*" error_lines "${countable}")
  list(LENGTH error_lines errors)
  if(NOT errors EQUAL 1)
    set(${result} "${errors} error lines, expected exactly 1" PARENT_SCOPE)
    return()
  endif()

  file(READ "${SOURCE}" rest)
  set(expected 0)
  while(rest MATCHES "// expect(-gnu|-clang)?: ([^\n]*)\n(.*)")
    set(only "${CMAKE_MATCH_1}")
    set(text "${CMAKE_MATCH_2}")
    set(rest "${CMAKE_MATCH_3}")
    if(only STREQUAL "" OR only STREQUAL "-${family}")
      math(EXPR expected "${expected} + 1")
      string(FIND "${output}" "${text}" position)
      if(position EQUAL -1)
        set(${result} "the output lacks the expected text: ${text}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endwhile()
  if(expected EQUAL 0)
    set(${result} "the case names no expected text" PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

if(PART AND EXISTS "${PART}" AND NOT DEFINED ENV{HYPERPARALLEL_EXHAUSTIVE})
  file(READ "${PART}" output)
  # A part is of one run and judged once.
  file(REMOVE "${PART}")
  what_is_wrong(wrong "${output}")
  if(wrong STREQUAL "")
    return()
  endif()
endif()

message("compiled alone")
execute_process(COMMAND ${compile} "${SOURCE}" RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0)
  set(wrong "accepted with -DNEGATIVE")
elseif(NOT code EQUAL 1)
  set(wrong "the compiler ended with ${code}")
else()
  what_is_wrong(wrong "${output}")
endif()
if(NOT wrong STREQUAL "")
  # CMake rewraps text that does not start with a space.
  string(REPLACE "\n" "\n  " shown "${output}")
  message(FATAL_ERROR "  ${SOURCE}: ${wrong}\n  ${shown}")
endif()
