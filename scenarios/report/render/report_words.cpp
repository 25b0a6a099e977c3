// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/report_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery {

std::string thousands(std::int64_t value) {
    const std::string digits = fmt::format("{}", value);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        const bool comma = i > 0 && (digits.size() - i) % 3 == 0 && digits[i - 1] != '-';
        text += comma ? "," : "";
        text += digits[i];
    }
    return text;
}

std::string signed_text(double value, int digits) {
    const std::string text = fmt::format("{:+.{}f}", value, digits);
    const bool zero = std::isfinite(value) && text.find_first_of("123456789") == std::string::npos;
    return zero ? text.substr(1) : text;
}

std::string counted(std::int64_t count, std::string_view what) {
    const char* ending = count == 1 ? "" : what.ends_with("ch") ? "es" : "s";
    return fmt::format("{} {}{}", thousands(count), what, ending);
}

std::string spaced(std::string_view name) {
    std::string text{name};
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

// Only exposed communication costs time.
std::string words_for(Cause cause) {
    switch (cause) {
        case Cause::gemm_inefficiency:
            return "GEMM inefficiency";
        case Cause::memory_bound_kernels:
            return "memory-bound kernels";
        case Cause::exposed_tensor:
            return "exposed tensor-parallel";
        case Cause::exposed_context:
            return "exposed context-parallel";
        case Cause::exposed_expert:
            return "exposed expert-parallel";
        case Cause::exposed_data:
            return "exposed data-parallel";
        case Cause::exposed_other:
            return "exposed embedding, norm";
        case Cause::counted_not_executed:
            return "counted, not executed";
        default:
            return spaced(name(cause));
    }
}

std::string assumed_words(const Answer& answer) {
    std::string text;
    for (const auto& [key, value] : answer.assumed) {
        text +=
            fmt::format("{}{} {}", text.empty() ? "" : ", ", key.substr(key.find('.') + 1), value);
    }
    return text;
}

}  // namespace orrery
