// SPDX-License-Identifier: Apache-2.0
// Progress on standard error: a bar on a terminal, once the work has taken longer than a second;
// elsewhere a line a minute, from half a minute on.
#pragma once

#include <chrono>
#include <string>

namespace orrery {

class ProgressBar {
public:
    static constexpr double kFirstLineS = 30;
    static constexpr double kBetweenLinesS = 60;

    explicit ProgressBar(std::string label);
    // `terminal`: whether to show anything at all.
    ProgressBar(std::string label, bool terminal);
    ~ProgressBar() { finish(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    void show(double share);  // 0 … 1
    void finish();            // wipes the bar; nothing is shown after that

private:
    std::string label_;
    bool terminal_;
    bool logs_ = false;
    bool shown_ = false;
    double next_line_s_ = kFirstLineS;
    std::chrono::steady_clock::time_point begin_;
    std::chrono::steady_clock::time_point last_;
};

// "profiling: 12 %, 240 s left"
std::string logged_progress(const std::string& label, double share, double elapsed_s);
// "simulating [#######-----] 58 %  12 s left"; 100 columns at most.
std::string progress_line(const std::string& label, double share, double elapsed_s);

}  // namespace orrery
