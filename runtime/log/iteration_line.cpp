// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/iteration_line.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/expert_loads.h"
#include "runtime/trainer.h"

namespace orrery {

std::string iteration_line(const StepReport& report, std::int64_t steps, std::int64_t batch_size) {
    return fmt::format(
        " iteration {:8}/{:8} | consumed samples: {:12} | elapsed time per iteration (ms): {:.1f} "
        "| learning rate: {:.6E} | global batch size: {:5} | lm loss: {:.6E} | grad norm: {:.3f} |",
        report.step,
        steps,
        report.consumed_samples,
        1e3 * report.seconds,
        report.learning_rate,
        batch_size,
        report.loss,
        report.gradient_norm);
}

std::string validation_line(std::int64_t step, double loss) {
    return fmt::format(
        " validation loss at iteration {} | lm loss value: {:.6E} | lm loss PPL: {:.6E} |",
        step,
        loss,
        std::exp(loss));
}

std::string experts_line(std::int64_t step, const LoadSummary& loads) {
    return fmt::format(
        " experts at iteration {} | tokens of the busiest over the mean: {:.3f} | dropped (%): "
        "{:.2f} |",
        step,
        loads.max_over_mean,
        100 * loads.dropped);
}

}  // namespace orrery
