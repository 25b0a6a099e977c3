// SPDX-License-Identifier: Apache-2.0
// Sections of a scenario as YAML text for the tests of their readers.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {

inline const Catalogue& shipped_catalogue() {
    static const Catalogue catalogue{ORRERY_SOURCE_DIR "/scenarios/catalogue"};
    return catalogue;
}

inline DocumentNode section_of(const std::string& text) {
    const auto document = parse_yaml(text, "s.yaml");
    EXPECT_TRUE(document) << document.error().front().to_string();
    return document ? *document : DocumentNode{};
}

// All errors, one a line.
inline std::string lines_of(const Errors& errors) {
    std::string lines;
    for (const Error& error : errors) {
        lines += error.to_string() + "\n";
    }
    return lines;
}

// Of a section `packet`.
inline std::string packet_errors(const std::string& text, PacketSettings* settings = nullptr) {
    Errors errors;
    PacketSettings ignored;
    const DocumentNode root = section_of("packet: " + text);
    read_packet(*root.find("packet"), settings != nullptr ? *settings : ignored, errors);
    return lines_of(errors);
}

// The text without the line that begins with `key`.
inline std::string without_key(std::string text, const std::string& key) {
    const std::size_t at = text.find(key + ":");
    EXPECT_NE(at, std::string::npos) << key;
    return text.erase(at, text.find('\n', at) + 1 - at);
}

}  // namespace orrery
