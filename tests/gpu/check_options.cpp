// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/check_options.h"

#include <charconv>
#include <map>

namespace orrery::gpu_check {
namespace {

template <class Number>
Result<Number> number_of(const std::string& where, const std::string& word) {
    Number number{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{} || end != word.data() + word.size()) {
        return fail(where, "'" + word + "' is not a whole number");
    }
    return number;
}

Result<void> take_number(const std::string& where, const std::string& word, int& into) {
    const Result<int> number = number_of<int>(where, word);
    if (!number || *number < 1) {
        return fail(where, "'" + word + "' is not a whole number of at least 1");
    }
    into = *number;
    return {};
}

Result<void> take_value(const std::string& option, const std::string& value, CheckOptions& o) {
    if (option == "--limit") {
        return take_number(option, value, o.limit_s);
    }
    if (option == "--csv") {
        o.csv = value;
        return {};
    }
    try {
        const std::regex checked{value};
    } catch (const std::regex_error& error) {
        return fail(option, "'" + value + "' is not a regular expression: " + error.what());
    }
    o.only = value;
    return {};
}

Result<void> take_place(int place, const std::string& word, CheckOptions& o) {
    if (place == 0) {
        const Result<std::uint64_t> seed = number_of<std::uint64_t>("SEED", word);
        if (!seed) {
            return unexpected<Error>(seed.error());
        }
        o.seed = *seed;
        return {};
    }
    return place == 1 ? take_number("ROUNDS", word, o.rounds)
                      : fail("", "'" + word + "' is one word too many", "--help");
}

}  // namespace

Result<CheckOptions> check_options(std::span<const char* const> words) {
    CheckOptions options;
    bool no_times = false;
    bool times_only = false;
    const std::map<std::string, bool*> flags{{"--list", &options.list},
                                             {"--no-times", &no_times},
                                             {"--times-only", &times_only},
                                             {"--one-process", &options.one_process},
                                             {"--help", &options.help}};
    int place = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string word = words[i];
        Result<void> done;
        if (const auto flag = flags.find(word); flag != flags.end()) {
            *flag->second = true;
        } else if (word == "--only" || word == "--csv" || word == "--limit") {
            done = i + 1 < words.size() ? take_value(word, words[i + 1], options)
                                        : fail(word, "needs a value", "--help");
            ++i;
        } else if (word.starts_with("-")) {
            done = fail(word, "is not an option", "--help");
        } else {
            done = take_place(place++, word, options);
        }
        if (!done) {
            return unexpected<Error>(done.error());
        }
    }
    if (no_times && times_only) {
        return fail("--times-only", "contradicts --no-times");
    }
    options.checks = !times_only;
    options.times = !no_times;
    return options;
}

}  // namespace orrery::gpu_check
