// SPDX-License-Identifier: Apache-2.0
// Hashes of the inputs of a result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace orrery {

// 128 bits of FNV-1a (Fowler, Noll, Vo; offset basis and prime as in RFC 9923). It does not protect
// against malice.
class Fingerprint {
public:
    // Parts are separated: ("ab", "c") differs from ("a", "bc").
    void add(std::string_view part);
    void add_file(const std::filesystem::path& path);
    std::string hexadecimal() const;

private:
    void byte(unsigned char value);

    unsigned __int128 hash_ =
        (static_cast<unsigned __int128>(0x6c62272e07bb0142U) << 64U) | 0x62b821756295c58dU;
};

// Hash of a file's content, or of the names and contents of a folder's files.
std::string file_fingerprint(const std::filesystem::path& file);

// Hash of all files of a catalogue except its published measurements, which change no simulation.
std::string catalogue_fingerprint(const std::filesystem::path& catalogue);

}  // namespace orrery
