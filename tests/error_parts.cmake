# SPDX-License-Identifier: Apache-2.0
#
# cmake -DFOLDER=… -P error_parts.cmake: canned output of compilers is handed to the cases it is about. FOLDER is scratch.
include("${CMAKE_CURRENT_LIST_DIR}/../cmake/error_parts.cmake")

# The cases a, b, … of folder f that have a part of `output` are those that follow.
function(parts_are output)
  hyperparallel_write_error_parts("${output}" "${FOLDER}")
  file(GLOB parts RELATIVE "${FOLDER}" "${FOLDER}/*.txt")
  list(TRANSFORM parts REPLACE "^compile_fail_f_(.)_cpp\\.txt$" "\\1")
  if(NOT parts STREQUAL "${ARGN}")
    message(FATAL_ERROR "parts of ${parts}, expected ${ARGN}, of\n${output}")
  endif()
endfunction()

function(part_is case text)
  file(READ "${FOLDER}/compile_fail_f_${case}_cpp.txt" part)
  if(NOT part STREQUAL text)
    message(FATAL_ERROR "the part of ${case} is\n${part}expected\n${text}")
  endif()
endfunction()

# g++: context stands before, and that of a note is the note's.
set(of_a "In file included from h.hpp:1,
                 from cases/f.cpp:1:
h.hpp: In instantiation of 'struct insist<diag<{3}; mesh[2], 'x\\0'> >':
/t/compile_fail/f/a.cpp:7:4:   required from here
h.hpp:3:4: error: incomplete type 'diag<mesh>'
h.hpp: In substitution of 'template<class T> use<T>':
/t/compile_fail/f/a.cpp:8:4:   required from here
h.hpp:4:4: note: declared here
")
set(of_b "/t/compile_fail/f/b.cpp: In function 'auto g()':
/t/compile_fail/f/b.cpp:9:1: error: one
/t/compile_fail/f/b.cpp:9:2: error: two
")
string(REPLACE "mesh" "unit_of_compile_fail_f_a_cpp::mesh" printed_of_a "${of_a}")
parts_are("${printed_of_a}${of_b}" a b)
part_is(a "${of_a}")
part_is(b "${of_b}")

# clang: context stands behind, but for the includes.
set(of_c "In file included from cases/f.cpp:1:
h.hpp:3:4: error: undefined template 'diag<mesh>'
/t/compile_fail/f/c.cpp:5:1: note: in instantiation of 'insist<mesh>' requested here
h.hpp:1:1: note: template is declared here
")
set(of_d "In file included from cases/f.cpp:9:
/t/compile_fail/f/d.cpp:5:1: error: no member
")
parts_are("${of_c}${of_d}" c d)
part_is(c "${of_c}")
part_is(d "${of_d}")

# Nobody's: an error without a case, two files in one error, entities of another case.
parts_are("")
parts_are("h.hpp:3:4: error: broken\n${of_c}")
parts_are("${of_c}h.hpp:3:4: error: broken\n")
parts_are("${of_a}h.hpp:5:4: note: in unit_of_compile_fail_f_b_cpp::mesh\n${of_b}${of_c}" c)
parts_are("h.hpp:3:4: error: broken\n/t/compile_fail/f/a.cpp:1:1: note: x\n/t/compile_fail/f/b.cpp:1:1: note: y\n${of_a}${of_d}" d)
# Entities alone are no place.
parts_are("h.hpp:3:4: error: broken 'unit_of_compile_fail_f_a_cpp::mesh'\n${of_c}")
file(REMOVE_RECURSE "${FOLDER}")
