// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/size_list.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "scenarios/format/document/quantity.h"

namespace orrery {
namespace {

constexpr std::size_t kSizesMax = 64;

Result<Bytes> parse_size(std::string_view text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    Result<Bytes> size = parse_bytes(text);
    if (!size) {
        Error error = size.error();
        error.where = "--size";
        return unexpected<Error>(std::move(error));
    }
    if (*size <= Bytes{}) {
        return fail("--size", "a size must not be zero");
    }
    return size;
}

Result<void> append_range(std::string_view text, std::vector<Bytes>& sizes) {
    const std::size_t dots = text.find("..");
    const auto first = parse_size(text.substr(0, dots));
    if (!first) {
        return unexpected<Error>(first.error());
    }
    Bytes last = *first;
    if (dots != std::string_view::npos) {
        const auto to = parse_size(text.substr(dots + 2));
        if (!to) {
            return unexpected<Error>(to.error());
        }
        last = *to;
        if (last < *first) {
            return fail("--size", fmt::format("{} ends below where it begins", text), "1MiB..8GiB");
        }
    }
    for (Bytes size = *first; size <= last; size = size * 2) {
        sizes.push_back(size);
    }
    return {};
}

}  // namespace

Result<std::vector<Bytes>> parse_sizes(std::string_view text) {
    std::vector<Bytes> sizes;
    while (true) {
        const std::size_t comma = text.find(',');
        if (const auto added = append_range(text.substr(0, comma), sizes); !added) {
            return unexpected<Error>(added.error());
        }
        if (comma == std::string_view::npos) {
            break;
        }
        text.remove_prefix(comma + 1);
    }
    if (sizes.size() > kSizesMax) {
        return fail("--size", fmt::format("{} sizes", sizes.size()), "at most 64");
    }
    return sizes;
}

}  // namespace orrery
