// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>

#include "runtime/state/crc32c.h"

namespace orrery {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian");

template <class Number>
std::string bytes_of(Number number) {
    std::string bytes(sizeof(Number), '\0');
    std::memcpy(bytes.data(), &number, sizeof(Number));
    return bytes;
}

std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) {
        bytes += static_cast<char>(value | 0x80);
    }
    return bytes + static_cast<char>(value);
}

// A field of a protocol buffer is a key (field number and wire type) and the value.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

std::string key(std::uint64_t field, Wire wire) {
    return varint(field << 3 | static_cast<std::uint64_t>(wire));
}

std::string text_field(std::uint64_t field, std::string_view text) {
    return key(field, Wire::length) + varint(text.size()) + std::string{text};
}

std::string time_field(double wall_time) {
    return key(1, Wire::fixed64) + bytes_of(wall_time);
}

std::uint32_t masked_crc(std::string_view bytes) {
    const std::uint32_t crc = crc32c({std::as_bytes(std::span{bytes})});
    return std::rotr(crc, 15) + 0xA282EAD8u;
}

double seconds_since_1970() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

}  // namespace

std::string scalar_event(double wall_time, std::int64_t step, std::span<const ScalarEvent> values) {
    std::string summary;
    for (const ScalarEvent& scalar : values) {
        summary += text_field(1,
                              text_field(1, scalar.tag) + key(2, Wire::fixed32) +
                                  bytes_of(static_cast<float>(scalar.value)));
    }
    return time_field(wall_time) + key(2, Wire::varint) + varint(static_cast<std::uint64_t>(step)) +
           text_field(5, summary);
}

std::string event_record(std::string_view event) {
    const std::string length = bytes_of(static_cast<std::uint64_t>(event.size()));
    return length + bytes_of(masked_crc(length)) + std::string{event} + bytes_of(masked_crc(event));
}

Result<EventFile> EventFile::create(const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) {
        host[0] = '\0';
    }
    const double now = seconds_since_1970();
    std::filesystem::path path;
    for (int number = 0; path.empty() || std::filesystem::exists(path, error); ++number) {
        path = folder / fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                                    static_cast<std::int64_t>(now),
                                    host[0] == '\0' ? "host" : host.data(),
                                    getpid(),
                                    number);
    }
    std::ofstream file{path, std::ios::binary};
    file << event_record(time_field(now) + text_field(3, "brain.Event:2"));
    file.flush();
    if (!file) {
        return fail(path.string(), "can't be written", "is the folder writable, the disk full?");
    }
    return EventFile{std::move(path), std::move(file)};
}

Result<void> EventFile::write(std::int64_t step, std::span<const ScalarEvent> values) {
    file_ << event_record(scalar_event(seconds_since_1970(), step, values));
    file_.flush();
    return file_ ? Result<void>{} : fail(path_.string(), "can't be written", "is the disk full?");
}

}  // namespace orrery
