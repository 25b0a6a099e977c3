// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/training_log.h"

#include <fmt/format.h>

#include <array>

#include "runtime/expert_loads.h"
#include "runtime/trainer.h"

namespace orrery {
namespace {

// Bytes of the UTF-8 character at the begin of a text; 0 if it is not valid.
std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    const std::size_t length =
        first < 0x80
            ? 1
            : (first < 0xC2 ? 0 : (first < 0xE0 ? 2 : (first < 0xF0 ? 3 : (first < 0xF5 ? 4 : 0))));
    if (length > text.size()) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) {
            return 0;
        }
    }
    // Rejects overlong forms, surrogates and codes beyond U+10FFFF.
    const unsigned second = length > 1 ? byte(1) : 0;
    const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                       (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
    return wrong ? 0 : length;
}

}  // namespace

std::string json_string(std::string_view text) {
    std::string quoted = "\"";
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const char c = text.front();
        if (length == 0) {
            quoted += "\xEF\xBF\xBD";
        } else if (c == '"' || c == '\\') {
            quoted += {'\\', c};
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
            quoted += c == '\n' ? "\\n" : fmt::format("\\u{:04x}", static_cast<int>(c));
        } else {
            quoted += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(1, length));
    }
    return quoted + '"';
}

Result<TrainingLog> TrainingLog::open(const TrainingJob& job, Warn warn) {
    TrainingLog log;
    log.warn_ = std::move(warn);
    if (!job.log_file.empty()) {
        log.path_ = job.log_file.string();
        log.file_.emplace(job.log_file, std::ios::binary | std::ios::app);
        if (!*log.file_) {
            return fail(log.path_, "can't be written", "is its folder there?");
        }
    }
    if (!job.tensorboard_folder.empty()) {
        Result<EventFile> events = EventFile::create(job.tensorboard_folder);
        if (!events) {
            return unexpected<Error>(events.error());
        }
        log.events_.emplace(std::move(*events));
    }
    return log;
}

void TrainingLog::step(const StepReport& mean) {
    write_line(
        fmt::format("{{\"step\":{},\"consumed_samples\":{},\"loss\":{:.9g},"
                    "\"grad_norm\":{:.9g},\"learning_rate\":{:.9g},\"seconds\":{:.6g}}}",
                    mean.step,
                    mean.consumed_samples,
                    mean.loss,
                    mean.gradient_norm,
                    mean.learning_rate,
                    mean.seconds));
    write_scalars(mean.step,
                  std::array{ScalarEvent{"loss/train", mean.loss},
                             ScalarEvent{"grad_norm", mean.gradient_norm},
                             ScalarEvent{"learning_rate", mean.learning_rate},
                             ScalarEvent{"seconds_per_step", mean.seconds}});
}

void TrainingLog::experts(std::int64_t step, const std::vector<ExpertLoad>& loads) {
    const LoadSummary summary = summary_of(loads);
    write_line(
        fmt::format("{{\"step\":{},\"expert_max_over_mean\":{:.6g},\"dropped\":{:.6g},"
                    "\"expert_tokens\":{}}}",
                    step,
                    summary.max_over_mean,
                    summary.dropped,
                    json_of(loads)));
    write_scalars(step,
                  std::array{ScalarEvent{"experts/max_over_mean", summary.max_over_mean},
                             ScalarEvent{"experts/dropped", summary.dropped}});
}

void TrainingLog::validation(std::int64_t step, double loss) {
    write_line(fmt::format("{{\"step\":{},\"validation_loss\":{:.9g}}}", step, loss));
    write_scalars(step, std::array{ScalarEvent{"loss/validation", loss}});
}

void TrainingLog::sample(std::int64_t step, std::string_view prompt, std::string_view text) {
    write_line(fmt::format("{{\"step\":{},\"prompt\":{},\"sample\":{}}}",
                           step,
                           json_string(prompt),
                           json_string(text)));
}

void TrainingLog::write_line(const std::string& line) {
    if (!file_) {
        return;
    }
    *file_ << line << '\n';
    file_->flush();
    if (!*file_) {
        warn_(fmt::format("warning: {} can't be written any more", path_));
        file_.reset();
    }
}

void TrainingLog::write_scalars(std::int64_t step, std::span<const ScalarEvent> values) {
    if (!events_) {
        return;
    }
    if (const Result<void> done = events_->write(step, values); !done) {
        warn_(fmt::format("warning: {} any more", done.error().where + " " + done.error().what));
        events_.reset();
    }
}

}  // namespace orrery
