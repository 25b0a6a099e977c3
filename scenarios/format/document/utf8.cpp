// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/utf8.h"

#include <algorithm>

namespace orrery {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
}

bool is_continuation(unsigned byte) {
    return (byte & 0xC0U) == 0x80U;
}

// Length of the well-formed sequence at i, or 0.
std::size_t sequence_length(std::string_view text, std::size_t i) {
    const unsigned a = byte_at(text, i);
    const unsigned b = byte_at(text, i + 1);
    if (a < 0x80) {
        return 1;
    }
    if (a >= 0xC2 && a <= 0xDF) {
        return is_continuation(b) ? 2 : 0;
    }
    if (!is_continuation(b) || !is_continuation(byte_at(text, i + 2))) {
        return 0;
    }
    if (a >= 0xE0 && a <= 0xEF) {  // no overlong forms, no surrogates
        return (a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F) ? 0 : 3;
    }
    if (a >= 0xF0 && a <= 0xF4 && is_continuation(byte_at(text, i + 3))) {
        return (a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F) ? 0 : 4;
    }
    return 0;
}

}  // namespace

TextFault find_text_fault(std::string_view text) {
    TextFault at;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = sequence_length(text, i);
        if (length == 0) {
            at.what = "not UTF-8 text";
            return at;
        }
        const unsigned byte = byte_at(text, i);
        if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F) {
            at.what = byte == 0 ? "a NUL byte: this is a binary file" : "a control character";
            return at;
        }
        i += length;
        ++at.column;
        if (byte == '\n') {
            ++at.line;
            at.column = 1;
        }
    }
    return at;
}

std::size_t num_characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return !is_continuation(static_cast<unsigned char>(c));
    }));
}

std::string cut(std::string text, std::size_t width) {
    std::size_t characters = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
        if (begins && ++characters > width) {
            text.resize(i);
        }
    }
    return text;
}

}  // namespace orrery
