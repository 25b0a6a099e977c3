// SPDX-License-Identifier: Apache-2.0
// What makes a point of a study the same point tomorrow: the program's version, the catalogue, the
// scenario's text, the files that it names, and what the point changes. A point with a known
// identity is never run again; a changed figure of the catalogue makes new points.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// 128 bits of FNV-1a (Fowler, Noll, Vo; offset basis and prime as in RFC 9923), not against malice.
class Fingerprint {
public:
    // Parts are told from each other: ("ab", "c") is not ("a", "bc").
    void add(std::string_view part);
    void add_file(const std::filesystem::path& path);
    std::string hexadecimal() const;

private:
    void byte(unsigned char value);

    unsigned __int128 hash_ =
        (static_cast<unsigned __int128>(0x6c62272e07bb0142U) << 64U) | 0x62b821756295c58dU;
};

// Of what all points of a scenario share: the version, the catalogue, and the scenario's files.
std::string scenario_fingerprint(const std::filesystem::path& scenario,
                                 const std::filesystem::path& catalogue);

// `base` is the scenario's fingerprint; values that name files below `folder` count with what is
// in them.
std::string point_identity(const std::string& base,
                           const std::vector<std::string>& overrides,
                           const std::filesystem::path& folder);

}  // namespace orrery
