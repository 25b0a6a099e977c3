// SPDX-License-Identifier: Apache-2.0
// The plan section: the fields of ParallelPlan (models/plan/plan_fields.h) under their own names,
// which are Megatron-LM's.
#include <algorithm>

#include "models/plan/plan_fields.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

void refuse_others(MapReader& reader) {
    reader.refuse(plan_field<&ParallelPlan::data_parallel_size>.name,
                  "data_parallel_size is derived, never given",
                  "remove it: it is the number of GPUs / (tensor * pipeline * context)");
}

}  // namespace

void read_plan(const DocumentNode& section, ParallelPlan& plan, Errors& errors) {
    if (!section.is_map()) {
        errors.push_back({section.where(), "plan must be a map, not " + section.describe(), {}});
        return;
    }
    MapReader reader{section, "plan", errors};
    bool scheduled = false;
    bool chunked = false;
    bool sized = false;
    for_each_plan_field([&](const auto& field) {
        if (field.use != FieldUse::derived) {
            const bool given = read_field(reader, field, plan.*field.member);
            scheduled |= given && field.name == plan_field<&ParallelPlan::schedule>.name;
            chunked |=
                given &&
                field.name == plan_field<&ParallelPlan::virtual_pipeline_model_parallel_size>.name;
            sized |=
                given && field.name == plan_field<&ParallelPlan::tensor_model_parallel_size>.name;
        }
    });
    refuse_others(reader);
    if (!scheduled && plan.virtual_pipeline_model_parallel_size > 1) {
        plan.schedule = ScheduleKind::interleaved_1f1b;
    }
    if (!chunked && plan.schedule == ScheduleKind::dual_pipe_v) {
        plan.virtual_pipeline_model_parallel_size = 2;  // there and back
    }
    const std::vector<std::int64_t>& of_stages = plan.stage_tensor_model_parallel_sizes;
    if (!sized && !of_stages.empty()) {
        plan.tensor_model_parallel_size = std::ranges::max(of_stages);
    }
    reader.finish();
}

}  // namespace orrery
