# SPDX-License-Identifier: Apache-2.0
#
# cmake -DCOMMAND=… -DSURVIVORS=0;1;2 -DEXPECT=text -DSECONDS=20 -P failure_test.cmake
#
# Law: the job ends within SECONDS with a failure status, and every process of SURVIVORS prints one line
# "process P: …EXPECT…".
execute_process(COMMAND ${COMMAND} TIMEOUT ${SECONDS} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT code MATCHES "^[1-9][0-9]*$")
  message(FATAL_ERROR "  ended with ${code}\n  ${output}")
endif()
string(REGEX REPLACE "[][;]" " " output "${output}")
string(REPLACE "\n" ";" lines "${output}")
foreach(process IN LISTS SURVIVORS)
  set(said 0)
  foreach(line IN LISTS lines)
    string(FIND "${line}" "process ${process}: " start)
    string(FIND "${line}" "${EXPECT}" position)
    if(start EQUAL 0 AND position GREATER 0)
      math(EXPR said "${said} + 1")
    endif()
  endforeach()
  if(NOT said EQUAL 1)
    message(FATAL_ERROR "  process ${process} said ${said} times: ${EXPECT}\n  ${output}")
  endif()
endforeach()
