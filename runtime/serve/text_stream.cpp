// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/text_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace orrery {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes of the character that begins with this byte; 0 if none can.
std::size_t character_size(unsigned char first) {
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first < 0xE0) {
        return 2;
    }
    if (first >= 0xE0 && first < 0xF0) {
        return 3;
    }
    return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

// Whether the second byte may follow the first. Excludes overlong forms, surrogates and codes
// beyond U+10FFFF (RFC 3629).
bool may_follow(unsigned char first, unsigned char second) {
    const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    return second >= least && second <= most;
}

}  // namespace

std::string TextStream::characters(bool last) {
    std::string text;
    std::size_t at = 0;
    while (at < bytes_.size()) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes_[at + i]); };
        const std::size_t size = character_size(byte(0));
        std::size_t good = size == 0 ? 0 : 1;
        while (good > 0 && good < size && at + good < bytes_.size() &&
               (good == 1 ? may_follow(byte(0), byte(1)) : (byte(good) & 0xC0) == 0x80)) {
            ++good;
        }
        if (size > 0 && good == size) {
            text.append(bytes_, at, size);
            at += size;
        } else if (size > 0 && at + good == bytes_.size() && !last) {
            break;  // the rest may follow
        } else {
            text += kReplacement;
            at += std::max<std::size_t>(good, 1);
        }
    }
    bytes_.erase(0, at);
    return text;
}

std::string TextStream::add(std::string_view bytes, bool last) {
    if (stopped_) {
        return {};
    }
    bytes_ += bytes;
    held_ += characters(last);
    std::size_t end = std::string::npos;
    for (const std::string& stop : stops_) {
        end = std::min(end, held_.find(stop));
    }
    if (end != std::string::npos) {
        stopped_ = true;
        return held_.substr(0, end);
    }
    std::size_t keep = 0;
    for (const std::string& stop : stops_) {
        for (std::size_t size = std::min(stop.size() - 1, held_.size()); !last && size > keep;
             --size) {
            if (std::string_view{held_}.ends_with(std::string_view{stop}.substr(0, size))) {
                keep = size;
            }
        }
    }
    std::string text = held_.substr(0, held_.size() - keep);
    held_.erase(0, text.size());
    return text;
}

}  // namespace orrery
