// SPDX-License-Identifier: Apache-2.0
// A progress bar on standard error, shown only on a terminal and only once the work has taken
// longer than a second.
#pragma once

#include <chrono>
#include <string>

namespace orrery {

class ProgressBar {
public:
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
    bool shown_ = false;
    std::chrono::steady_clock::time_point begin_;
    std::chrono::steady_clock::time_point last_;
};

// "simulating [#######-----] 58 %  12 s left"; 100 columns at most.
std::string progress_line(const std::string& label, double share, double elapsed_s);

}  // namespace orrery
