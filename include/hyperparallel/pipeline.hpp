// SPDX-License-Identifier: Apache-2.0
#pragma once
// Front header of pipeline/: pipeline schedules as values and as types.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/pipeline/account.hpp>
#include <hyperparallel/pipeline/action.hpp>
#include <hyperparallel/pipeline/costs.hpp>
#include <hyperparallel/pipeline/idle_slots.hpp>
#include <hyperparallel/pipeline/lower_pipeline.hpp>
#include <hyperparallel/pipeline/many_micro_batches.hpp>
#include <hyperparallel/pipeline/message_places.hpp>
#include <hyperparallel/pipeline/messages.hpp>
#include <hyperparallel/pipeline/mindspore_lists.hpp>
#include <hyperparallel/pipeline/named_schedule.hpp>
#include <hyperparallel/pipeline/parameter_actions.hpp>
#include <hyperparallel/pipeline/pipeline.hpp>
#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/placement.hpp>
#include <hyperparallel/pipeline/refused_schedule.hpp>
#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/pipeline/schedule.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/pipeline/sizes.hpp>
#include <hyperparallel/pipeline/stage_split.hpp>
#include <hyperparallel/pipeline/status.hpp>
#include <hyperparallel/pipeline/transport.hpp>
