// SPDX-License-Identifier: Apache-2.0
// Workflows of a run: the calls of a stage are sent when all calls of the stage before have ended.
#include "engine/base/check.h"
#include "engine/serving/served_run.h"

namespace orrery {

void ServedRun::list_workflows() {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        const Request& request = requests_[i];
        const bool later = request.workflow > 0 && request.stage > 0;
        ORRERY_CHECK(later || arriving_ == i);  // calls of later stages must be last
        arriving_ += later ? 0 : 1;
        if (request.workflow == 0) {
            continue;
        }
        if (workflows_.size() < request.workflow) {
            workflows_.resize(request.workflow);
        }
        Workflow& workflow = workflows_[request.workflow - 1];
        if (!later) {
            ++workflow.open;
            continue;
        }
        ORRERY_CHECK(workflow.later.empty() ||
                     requests_[number_of(workflow.later.back())].stage <= request.stage);
        workflow.later.push_back(static_cast<RequestId>(i));
    }
}

void ServedRun::end_call(std::uint32_t workflow) {
    if (workflow == 0 || --workflows_[workflow - 1].open > 0) {
        return;
    }
    Workflow& of = workflows_[workflow - 1];
    if (of.next == of.later.size()) {
        return;
    }
    const std::size_t first = of.next;
    const std::uint32_t stage = request_of(of.later[first]).stage;
    while (of.next < of.later.size() && request_of(of.later[of.next]).stage == stage) {
        ++of.next;
    }
    const std::vector<RequestId> calls(of.later.begin() + static_cast<std::ptrdiff_t>(first),
                                       of.later.begin() + static_cast<std::ptrdiff_t>(of.next));
    of.open = static_cast<std::int64_t>(calls.size());
    for (const RequestId call : calls) {
        send_one(call, Time{});
    }
}

// A workflow with a refused call has no further stages.
void ServedRun::refuse_workflow(std::uint32_t workflow) {
    if (workflow == 0) {
        return;
    }
    Workflow& of = workflows_[workflow - 1];
    --of.open;
    for (std::size_t i = of.next; i < of.later.size(); ++i) {
        record_of(of.later[i]).refused = true;
    }
    of.later.resize(of.next);
}

}  // namespace orrery
