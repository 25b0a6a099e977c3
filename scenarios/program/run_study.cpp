// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/run_study.h"

#include <fmt/format.h>

#include <chrono>

#include "scenarios/program/exit_status.h"
#include "scenarios/report/render/progress.h"
#include "scenarios/report/render/terminal.h"

namespace orrery {

Errors placed(Errors errors, const std::string& source) {
    for (Error& error : errors) {
        error.where = error.where.empty() ? source : error.where;
    }
    return errors;
}

int run_study(const ViewArguments& views,
              const std::string& source,
              const std::string& label,
              const RunnableStudy& study) {
    Result<OpenViews> open = open_views(views);
    if (!open) {
        return report_error(open.error());
    }
    const auto begin = std::chrono::steady_clock::now();
    ProgressBar bar{label};
    const ResultOrErrors<StudyOutput> output = study([&bar](double share) { bar.show(share); });
    bar.finish();
    if (!output) {
        return report_errors(placed(output.error(), source));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    print_detail(fmt::format("{} {} took {:.2f} s", label, source, took.count()));
    return show_output(views, *open, *output);
}

}  // namespace orrery
