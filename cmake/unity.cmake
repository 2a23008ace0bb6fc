# SPDX-License-Identifier: Apache-2.0
#
# Several small sources as one translation unit: parsing headers costs more than most tests themselves.
#
# The unit includes the headers of all its sources first, then every source within a namespace of its own, where its
# include directives find their headers included already. So names of one source never meet those of another.
# Preconditions on a source: every include directive stands in a line of its own and under no condition; headers have
# include guards; nothing is declared in a namespace that must be global.

# Sets `result` to ON when `source` changes nothing for sources behind it in a unit: no macro, nothing global.
function(hyperparallel_keeps_to_itself source result)
  file(STRINGS "${source}" shared REGEX "^ *#[ ]*(define|undef)|^namespace (hyperparallel|std|fmt)|operator (new|delete)")
  if(shared)
    set(${result} OFF PARENT_SCOPE)
  else()
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

# Sets `result` to ON when `source` may share a unit with others.
function(hyperparallel_may_share_unit source result)
  hyperparallel_keeps_to_itself("${source}" itself)
  file(STRINGS "${source}" conditions REGEX "^ *#[ ]*if")
  if(itself AND NOT conditions)
    set(${result} ON PARENT_SCOPE)
  else()
    set(${result} OFF PARENT_SCOPE)
  endif()
endfunction()

# Sets `result` to the numbers of the units that the sources that follow share, at most `bytes` of them in each, and
# `result`_<number> to the sources of each.
function(hyperparallel_pack_units result bytes)
  set(number 1)
  set(unit "")
  set(sum 0)
  foreach(source IN LISTS ARGN)
    file(SIZE "${source}" size)
    math(EXPR sum "${sum} + ${size}")
    if(unit AND sum GREATER bytes)
      math(EXPR number "${number} + 1")
      set(unit "")
      set(sum ${size})
    endif()
    list(APPEND unit "${source}")
    set(${result}_${number} "${unit}" PARENT_SCOPE)
  endforeach()
  set(numbers "")
  if(unit)
    foreach(i RANGE 1 ${number})
      list(APPEND numbers ${i})
    endforeach()
  endif()
  set(${result} "${numbers}" PARENT_SCOPE)
endfunction()

# Sets `result` to the filter of GoogleTest that runs the suites of `source`.
function(hyperparallel_suites_of source result)
  file(STRINGS "${source}" suites REGEX "^(TYPED_)?TEST(_F|_P)?\\(")
  list(TRANSFORM suites REPLACE "^[A-Z_]*TEST[_FP]*\\(([A-Za-z0-9_]+),.*" "\\1")
  list(REMOVE_DUPLICATES suites)
  list(TRANSFORM suites REPLACE "(.+)" "\\1.*:\\1/*:*/\\1.*")
  list(JOIN suites ":" filter)
  set(${result} "${filter}" PARENT_SCOPE)
endfunction()

# Writes the unit `output` of the sources that follow, all below the current source folder, which has to be on the unit's
# include path. A source whose includes change configures the project again.
function(hyperparallel_write_unit output)
  set(includes "")
  set(bodies "")
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    file(STRINGS "${source}" lines REGEX "^#include")
    foreach(line IN LISTS lines)
      # What stands beside the source is named from the folder of all.
      string(REGEX REPLACE "^#include \"(.*)\".*" "${folder}/\\1" near "${line}")
      if(EXISTS "${near}")
        file(RELATIVE_PATH near "${CMAKE_CURRENT_SOURCE_DIR}" "${near}")
        set(line "#include \"${near}\"")
      endif()
      list(APPEND includes "${line}")
    endforeach()
    file(RELATIVE_PATH path "${CMAKE_CURRENT_SOURCE_DIR}" "${source}")
    string(MAKE_C_IDENTIFIER "${path}" entity)
    string(APPEND bodies "namespace unit_of_${entity} {\n#include \"${path}\"\n}\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  endforeach()
  list(REMOVE_DUPLICATES includes)
  string(REPLACE ";" "\n" includes "${includes}")
  file(CONFIGURE OUTPUT "${output}" CONTENT "@includes@\n@bodies@" @ONLY)
endfunction()
