# SPDX-License-Identifier: Apache-2.0
#
# Runs one negative case: cmake -DCOMPILER=… -DCOMPILER_ID=… -DSOURCE=… -DINCLUDE=… [-DPRECOMPILED=…] -P compile_fail.cmake
#
# Law: without NEGATIVE the file compiles (the twin, which also asserts that the matching concept is false for the mistake;
# tests/compile_fail.cmake builds all twins); with -DNEGATIVE it is refused, the output holds every expected text, and
# exactly one line says "error:". PRECOMPILED is a folder of precompiled headers, named as they are included.
# Expected texts are comments of the case:
#   // expect: text            on every compiler
#   // expect-gnu: text        g++ only
#   // expect-clang: text      clang only
set(ENV{LC_ALL} C)
if(COMPILER_ID MATCHES "Clang")
  set(family clang)
  set(style -fno-color-diagnostics -fno-caret-diagnostics)
else()
  set(family gnu)
  set(style -fdiagnostics-color=never -fno-diagnostics-show-caret)
endif()

# CMake rewraps text that does not start with a space.
function(refuse why output)
  string(REPLACE "\n" "\n  " shown "${output}")
  message(FATAL_ERROR "  ${SOURCE}: ${why}\n  ${shown}")
endfunction()

set(folders "-I${INCLUDE}")
if(PRECOMPILED)
  list(PREPEND folders "-I${PRECOMPILED}")
endif()

execute_process(COMMAND "${COMPILER}" -std=c++20 -fmessage-length=0 -fsyntax-only ${style} ${folders} "${SOURCE}" -DNEGATIVE
                RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0)
  refuse("accepted with -DNEGATIVE" "${output}")
endif()
if(NOT code EQUAL 1)
  refuse("the compiler ended with ${code}" "${output}")
endif()

# Brackets and semicolons mean something in CMake lists; only the count of lines matters here.
string(REGEX REPLACE "[][;]" " " countable "${output}")
string(REGEX MATCHALL "[^\n]*error:[^\n]*" error_lines "${countable}")
list(LENGTH error_lines errors)
if(NOT errors EQUAL 1)
  refuse("${errors} error lines, expected exactly 1" "${output}")
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
      refuse("the output lacks the expected text: ${text}" "${output}")
    endif()
  endif()
endwhile()
if(expected EQUAL 0)
  refuse("the case names no expected text" "")
endif()
