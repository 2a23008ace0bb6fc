// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words, tables and pictures: formatters for the library's values, text tables, timelines, traces, progress.

#include <hyperparallel/support/dialect.hpp>

#include <hyperparallel/report/draw_layout.hpp>
#include <hyperparallel/report/draw_pipeline.hpp>
#include <hyperparallel/report/draw_pipeline_svg.hpp>
#include <hyperparallel/report/draw_pipeline_text.hpp>
#include <hyperparallel/report/explain_move.hpp>
#include <hyperparallel/report/explain_relocation.hpp>
#include <hyperparallel/report/format_choice.hpp>
#include <hyperparallel/report/format_compute.hpp>
#include <hyperparallel/report/format_hardware.hpp>
#include <hyperparallel/report/format_layout.hpp>
#include <hyperparallel/report/format_mesh.hpp>
#include <hyperparallel/report/format_move.hpp>
#include <hyperparallel/report/format_offload.hpp>
#include <hyperparallel/report/format_operators.hpp>
#include <hyperparallel/report/format_pipeline.hpp>
#include <hyperparallel/report/format_plan.hpp>
#include <hyperparallel/report/format_program.hpp>
#include <hyperparallel/report/format_shape.hpp>
#include <hyperparallel/report/format_taskflow.hpp>
#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/json_text.hpp>
#include <hyperparallel/report/nested_chunks.hpp>
#include <hyperparallel/report/page.hpp>
#include <hyperparallel/report/pictures_svg.hpp>
#include <hyperparallel/report/progress.hpp>
#include <hyperparallel/report/queue_name.hpp>
#include <hyperparallel/report/svg_text.hpp>
#include <hyperparallel/report/table.hpp>
#include <hyperparallel/report/text_sink.hpp>
#include <hyperparallel/report/timeline.hpp>
#include <hyperparallel/report/trace.hpp>
#include <hyperparallel/report/trace_parts.hpp>
#include <hyperparallel/report/trace_pipeline.hpp>
