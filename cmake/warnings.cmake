# SPDX-License-Identifier: Apache-2.0
#
# Warnings are for the project's own targets; users of the library never see these options.
#
# Nor what g++ is told of its own memory: it collects garbage only above 1 GB, which most units never reach. Collections take
# a tenth of the time of a unit.
set(hyperparallel_warning_options -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(HYPERPARALLEL_WARNINGS_AS_ERRORS)
  list(APPEND hyperparallel_warning_options -Werror)
endif()

add_library(hyperparallel_warnings INTERFACE)
target_compile_options(hyperparallel_warnings INTERFACE ${hyperparallel_warning_options}
                                                        $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)
