// SPDX-License-Identifier: Apache-2.0
// Progress on standard error. On a terminal it is a bar, shown once the work has taken more than a
// second. Elsewhere it is a line a minute, from half a minute on.
#pragma once

#include <chrono>
#include <string>

namespace orrery {

class ProgressBar {
public:
    static constexpr double kFirstLineS = 30;
    static constexpr double kBetweenLinesS = 60;

    explicit ProgressBar(std::string label);
    // `terminal`: whether progress is shown.
    ProgressBar(std::string label, bool terminal);
    ~ProgressBar() { finish(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    void show(double share);  // 0 … 1
    void finish();            // removes the bar; later calls show nothing

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
