// SPDX-License-Identifier: Apache-2.0
// Encoder of the protobuf messages of perfetto/trace, for all writers of traces.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace orrery::perfetto {

// Protobuf's wire format: a tag (field << 3 | type), then a varint or a length and bytes.
class Message {
public:
    Message& number(std::uint32_t field, std::uint64_t value) {
        varint(std::uint64_t{field} << 3U);
        varint(value);
        return *this;
    }
    Message& bytes(std::uint32_t field, std::string_view value) {
        varint(std::uint64_t{field} << 3U | 2U);
        varint(value.size());
        data_ += value;
        return *this;
    }
    // A double, as its eight bytes.
    Message& real(std::uint32_t field, double value) {
        varint(std::uint64_t{field} << 3U | 1U);
        const auto bits = std::bit_cast<std::uint64_t>(value);
        for (unsigned byte = 0; byte < 8; ++byte) {
            data_ += static_cast<char>(bits >> (8 * byte) & 0xFFU);
        }
        return *this;
    }
    Message& message(std::uint32_t field, const Message& value) {
        return bytes(field, value.data_);
    }
    const std::string& data() const { return data_; }

private:
    void varint(std::uint64_t value) {
        while (value >= 0x80) {
            data_ += static_cast<char>((value & 0x7FU) | 0x80U);
            value >>= 7U;
        }
        data_ += static_cast<char>(value);
    }
    std::string data_;
};

// Field numbers of perfetto's .proto files.
namespace field {
inline constexpr std::uint32_t kTracePacket = 1;
inline constexpr std::uint32_t kTimestamp = 8;
inline constexpr std::uint32_t kSequenceId = 10;
inline constexpr std::uint32_t kTrackEvent = 11;
inline constexpr std::uint32_t kInternedData = 12;
inline constexpr std::uint32_t kSequenceFlags = 13;
inline constexpr std::uint32_t kTrackDescriptor = 60;
inline constexpr std::uint32_t kFirstPacketOnSequence = 87;
// InternedData, and its entries
inline constexpr std::uint32_t kEventCategories = 1;
inline constexpr std::uint32_t kEventNames = 2;
inline constexpr std::uint32_t kAnnotationNames = 3;
inline constexpr std::uint32_t kIid = 1;
inline constexpr std::uint32_t kName = 2;
// TrackDescriptor
inline constexpr std::uint32_t kUuid = 1;
inline constexpr std::uint32_t kProcess = 3;
inline constexpr std::uint32_t kThread = 4;
inline constexpr std::uint32_t kParentUuid = 5;
inline constexpr std::uint32_t kPid = 1;
inline constexpr std::uint32_t kTid = 2;
inline constexpr std::uint32_t kThreadName = 5;
inline constexpr std::uint32_t kProcessName = 6;
// TrackEvent
inline constexpr std::uint32_t kCategoryIids = 3;
inline constexpr std::uint32_t kAnnotations = 4;
inline constexpr std::uint32_t kType = 9;
inline constexpr std::uint32_t kNameIid = 10;
inline constexpr std::uint32_t kTrackUuid = 11;
// DebugAnnotation
inline constexpr std::uint32_t kAnnotationNameIid = 1;
inline constexpr std::uint32_t kAnnotationInt = 4;
// For tracks outside processes and threads: TrackDescriptor, TrackEvent
inline constexpr std::uint32_t kTrackName = 2;
inline constexpr std::uint32_t kCounter = 8;
inline constexpr std::uint32_t kEventName = 23;
inline constexpr std::uint32_t kDoubleCounterValue = 44;
}  // namespace field

inline constexpr std::uint64_t kSequence = 1;
inline constexpr std::uint64_t kSliceBegin = 1;
inline constexpr std::uint64_t kSliceEnd = 2;
inline constexpr std::uint64_t kInstant = 3;
inline constexpr std::uint64_t kCounterEvent = 4;
inline constexpr std::uint64_t kStateCleared = 1;
inline constexpr std::uint64_t kNeedsState = 2;

}  // namespace orrery::perfetto
