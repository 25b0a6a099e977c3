// SPDX-License-Identifier: Apache-2.0
// Field numbers and values of MLCommons Chakra execution traces (schema/protobuf/et_def.proto,
// schema version 0.0.4). A file is a GlobalMetadata followed by Nodes, each with its length before
// it. ASTRA-sim reads the same attributes. Names with "orrery" are extensions, because Chakra's own
// times are whole microseconds.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "engine/program/program.h"

namespace orrery::chakra {

inline constexpr std::uint32_t kMetadataVersion = 1;
// Node
inline constexpr std::uint32_t kId = 1;
inline constexpr std::uint32_t kName = 2;
inline constexpr std::uint32_t kType = 3;
inline constexpr std::uint32_t kCtrlDeps = 4;
inline constexpr std::uint32_t kDataDeps = 5;
inline constexpr std::uint32_t kDurationMicros = 7;
inline constexpr std::uint32_t kAttribute = 10;
// AttributeProto
inline constexpr std::uint32_t kAttributeName = 1;
inline constexpr std::uint32_t kInt32 = 7;
inline constexpr std::uint32_t kInt64 = 9;
inline constexpr std::uint32_t kUint32 = 11;
inline constexpr std::uint32_t kUint64 = 13;
inline constexpr std::uint32_t kBool = 27;
inline constexpr std::uint32_t kString = 29;
// NodeType
inline constexpr std::uint64_t kMetadataNode = 1;
inline constexpr std::uint64_t kMemoryLoad = 2;
inline constexpr std::uint64_t kMemoryStore = 3;
inline constexpr std::uint64_t kCompute = 4;
inline constexpr std::uint64_t kSend = 5;
inline constexpr std::uint64_t kReceive = 6;
inline constexpr std::uint64_t kCollective = 7;
// CollectiveCommType
inline constexpr std::array<std::pair<std::uint64_t, CollectiveKind>, 5> kCollectives{
    {{0, CollectiveKind::all_reduce},
     {2, CollectiveKind::all_gather},
     {5, CollectiveKind::broadcast},
     {6, CollectiveKind::all_to_all},
     {7, CollectiveKind::reduce_scatter}}};

inline constexpr std::string_view kGroupsFile = "comm_groups.json";

}  // namespace orrery::chakra
