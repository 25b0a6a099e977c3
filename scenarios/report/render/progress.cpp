// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/base/standard_error.h"
#include "scenarios/report/render/terminal.h"

namespace orrery {
namespace {

constexpr std::chrono::seconds kQuiet{1};
constexpr std::chrono::milliseconds kBetweenUpdates{100};
constexpr std::size_t kProgressWidth = 40;

// Text of the remaining time; empty while it cannot be estimated.
std::string rest_words(double done, double elapsed_s) {
    return done > 0.01 ? fmt::format("{:.0f} s left", elapsed_s * (1 - done) / done) : "";
}

}  // namespace

std::string logged_progress(const std::string& label, double share, double elapsed_s) {
    const double done = std::clamp(share, 0.0, 1.0);
    const std::string rest = rest_words(done, elapsed_s);
    return fmt::format(
        "{}: {:.0f} %{}{}", label.substr(0, 30), done * 100, rest.empty() ? "" : ", ", rest);
}

std::string progress_line(const std::string& label, double share, double elapsed_s) {
    const double done = std::clamp(share, 0.0, 1.0);
    const auto full = static_cast<std::size_t>(done * static_cast<double>(kProgressWidth));
    const std::string line = fmt::format("{} [{}{}] {:3.0f} %",
                                         label.substr(0, 30),
                                         std::string(full, '#'),
                                         std::string(kProgressWidth - full, '-'),
                                         done * 100);
    const std::string rest = rest_words(done, elapsed_s);
    return rest.empty() ? line : line + "  " + rest;
}

ProgressBar::ProgressBar(std::string label)
    : ProgressBar(std::move(label),
                  isatty(2) != 0 && !terminal().quiet && !terminal().no_progress) {
    logs_ = isatty(2) == 0 && !terminal().quiet && !terminal().no_progress;
}

ProgressBar::ProgressBar(std::string label, bool terminal)
    : label_(std::move(label)),
      terminal_(terminal),
      begin_(std::chrono::steady_clock::now()),
      last_(begin_) {}

void ProgressBar::show(double share) {
    const auto now = std::chrono::steady_clock::now();
    const double elapsed = std::chrono::duration<double>(now - begin_).count();
    if (logs_ && elapsed >= next_line_s_) {
        next_line_s_ = elapsed + kBetweenLinesS;
        print_to_stderr(fmt::format("{}\n", logged_progress(label_, share, elapsed)));
    }
    if (!terminal_) {
        return;
    }
    if (now - begin_ < kQuiet || now - last_ < kBetweenUpdates) {
        return;
    }
    last_ = now;
    shown_ = true;
    print_to_stderr(fmt::format("\r{}\033[K", progress_line(label_, share, elapsed)));
    std::fflush(stderr);
}

void ProgressBar::finish() {
    if (shown_) {
        print_to_stderr("\r\033[K");
        std::fflush(stderr);
        shown_ = false;
    }
    terminal_ = false;
    logs_ = false;
}

}  // namespace orrery
