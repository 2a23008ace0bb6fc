# SPDX-License-Identifier: Apache-2.0
#
# What a compiler printed of a unit of cases (tests/compile_fail.cmake), handed to the cases that it is about.
#
# The output is cut into diagnostics: an error or a warning, with the lines of context before it and the notes behind it
# ("In file included from", "In instantiation of", "required from here" stand before, clang's "requested here" behind). A
# diagnostic belongs to the case whose file it names. What isn't sure is nobody's:
#   a diagnostic that names no case's file           no case has a part, of the whole output
#   one that names two files, or entities of another case  none of these has a part
# A case without a part is compiled alone, so a cut in the wrong place costs time and no truth.

# Writes <folder>/<case>.txt for each case of `output` that has a part, where <case> is its path in tests as a C identifier.
# The namespaces that keep the cases of a unit apart (cmake/unity.cmake) are left out, as if the case were alone.
function(hyperparallel_write_error_parts output folder)
  file(REMOVE_RECURSE "${folder}")
  # Brackets, semicolons and backslashes mean something in lists.
  string(ASCII 1 open)
  string(ASCII 2 close)
  string(ASCII 3 semicolon)
  string(ASCII 4 backslash)
  string(REPLACE "[" "${open}" output "${output}")
  string(REPLACE "]" "${close}" output "${output}")
  string(REPLACE ";" "${semicolon}" output "${output}")
  string(REPLACE "\\" "${backslash}" output "${output}")
  string(REGEX REPLACE "\n$" "" output "${output}")
  string(REPLACE "\n" ";" lines "${output}")

  # Diagnostics, as a list of numbers and diagnostic_<number>.
  set(count 0)
  set(diagnostic_0 "")
  set(context "")
  foreach(line IN LISTS lines)
    if(line MATCHES "error:|warning:")
      math(EXPR count "${count} + 1")
      set(diagnostic_${count} "${context}${line}\n")
      set(context "")
    elseif(line MATCHES "^In file included from |^ +from |: In .*:$|: At global scope:$|:[0-9]+:   [^ ]")
      string(APPEND context "${line}\n")
    else()
      string(APPEND diagnostic_${count} "${context}${line}\n")
      set(context "")
    endif()
  endforeach()

  if(count EQUAL 0)
    return()
  endif()
  set(owners "")
  set(doubtful "")
  foreach(i RANGE 1 ${count})
    string(REGEX MATCHALL "compile_fail/[a-z0-9_]+/[a-z0-9_]+\\.cpp" files "${diagnostic_${i}}")
    string(REGEX MATCHALL "unit_of_[A-Za-z0-9_]+_cpp" spaces "${diagnostic_${i}}")
    list(TRANSFORM files REPLACE "[^a-z0-9_]" "_")
    list(TRANSFORM spaces REPLACE "^unit_of_" "")
    list(REMOVE_DUPLICATES files)
    if(NOT files)
      return()
    endif()
    set(named ${files} ${spaces})
    list(REMOVE_DUPLICATES named)
    list(LENGTH named cases)
    if(cases GREATER 1)
      list(APPEND doubtful ${named})
    else()
      list(APPEND owners ${named})
      string(APPEND part_of_${named} "${diagnostic_${i}}")
    endif()
  endforeach()

  list(REMOVE_DUPLICATES owners)
  list(REMOVE_ITEM owners ${doubtful} "")
  foreach(case IN LISTS owners)
    string(REGEX REPLACE "unit_of_${case}::" "" part "${part_of_${case}}")
    string(REPLACE "${open}" "[" part "${part}")
    string(REPLACE "${close}" "]" part "${part}")
    string(REPLACE "${semicolon}" ";" part "${part}")
    string(REPLACE "${backslash}" "\\" part "${part}")
    file(WRITE "${folder}/${case}.txt" "${part}")
  endforeach()
endfunction()
