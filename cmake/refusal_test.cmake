# SPDX-License-Identifier: Apache-2.0
#
# Bad input: cmake -DPROGRAM=… -DARGUMENTS=a;b -DEXPECT=text -DWORKPLACE=folder -P refusal_test.cmake
#
# Law: the program ends with a failure status of its own (no signal; STATUS, where given), says why in exactly one line on
# the error stream that holds EXPECT, prints nothing else, and leaves no file behind. OUTPUT: where it may print before
# that; /dev/full takes nothing.
file(REMOVE_RECURSE "${WORKPLACE}")
file(MAKE_DIRECTORY "${WORKPLACE}")
file(TOUCH "${WORKPLACE}/empty.txt")

set(output "")
if(DEFINED OUTPUT)
  set(printed OUTPUT_FILE "${OUTPUT}")
else()
  set(printed OUTPUT_VARIABLE output)
endif()
execute_process(COMMAND "${PROGRAM}" ${ARGUMENTS} WORKING_DIRECTORY "${WORKPLACE}" RESULT_VARIABLE code
                ${printed} ERROR_VARIABLE complaint)
if(NOT code MATCHES "^[1-9][0-9]*$" OR code GREATER_EQUAL 126)
  message(FATAL_ERROR "  ended with ${code}\n  ${output}\n  ${complaint}")
endif()
if(DEFINED STATUS AND NOT code EQUAL STATUS)
  message(FATAL_ERROR "  ended with ${code}, not ${STATUS}\n  ${complaint}")
endif()
if(NOT output STREQUAL "")
  message(FATAL_ERROR "  printed before it refused:\n  ${output}")
endif()
string(STRIP "${complaint}" line)
if(line STREQUAL "" OR line MATCHES "\n")
  message(FATAL_ERROR "  expected exactly one line on the error stream, got:\n  ${complaint}")
endif()
string(FIND "${line}" "${EXPECT}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "  the line does not name ${EXPECT}:\n  ${line}")
endif()
file(GLOB left RELATIVE "${WORKPLACE}" "${WORKPLACE}/*")
if(NOT left STREQUAL "empty.txt")
  message(FATAL_ERROR "  files left behind: ${left}")
endif()
