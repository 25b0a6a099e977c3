// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/memory_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <system_error>

#include "runtime/checkpoint.h"
#include "runtime/communication/communicator.h"
#include "runtime/state/checkpoint_choice.h"
#include "runtime/state/checkpoint_files.h"
#include "runtime/state/held_parameters.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kCopies = 0xFF'FFFD;  // id of a communicator that no Program has

// Captures the bytes that a checkpoint would write for this rank.
class Capture final : public FileSystem {
public:
    Result<void> create_folder(const Path&) override { return {}; }
    Result<void> write_file(const Path& path, const Pieces& pieces) override {
        if (path.filename().string().starts_with("rank-")) {
            for (const auto& piece : pieces) {
                bytes.insert(bytes.end(), piece.begin(), piece.end());
            }
        }
        return {};
    }
    Result<void> rename(const Path&, const Path&) override { return {}; }
    Result<void> remove(const Path&) override { return {}; }
    std::vector<std::byte> bytes;
};

// Slots with the same number have equal state, if the state is not sharded.
std::uint32_t replica_of(const JobShape& shape, std::uint32_t slot) {
    const std::uint32_t row = shape.units * shape.nodes_per_place;
    return shape.unit_major ? slot % (shape.slots / shape.units)
                            : slot / row * shape.nodes_per_place + slot % shape.nodes_per_place;
}

// By step and rank: the first file found.
std::map<std::int64_t, std::map<std::uint32_t, fs::path>> files_in(const fs::path& memories) {
    std::map<std::int64_t, std::map<std::uint32_t, fs::path>> found;
    std::vector<fs::path> nodes;
    std::error_code error;
    for (fs::directory_iterator at{memories, error}, end; !error && at != end;
         at.increment(error)) {
        if (at->path().filename().string().starts_with("node-")) {
            nodes.push_back(at->path());
        }
    }
    std::sort(nodes.begin(), nodes.end());
    for (const fs::path& node : nodes) {
        for (const StoredCheckpoint& stored : checkpoints_in(node)) {
            for (std::uint32_t rank = 0; rank < 64; ++rank) {
                const fs::path file = stored.folder / checkpoint_file_name(rank);
                if (fs::exists(file, error)) {
                    found[stored.step].emplace(rank, file);
                }
            }
        }
    }
    return found;
}

// The file of each rank; empty if one is missing.
std::vector<fs::path> all_of(const std::map<std::uint32_t, fs::path>& files,
                             const JobShape& shape,
                             bool replicas) {
    std::vector<fs::path> all;
    for (std::uint32_t rank = 0; rank < shape.slots; ++rank) {
        auto file = files.find(rank);
        if (file == files.end() && replicas) {
            file = std::find_if(files.begin(), files.end(), [&](const auto& other) {
                return other.first < shape.slots &&
                       replica_of(shape, other.first) == replica_of(shape, rank);
            });
        }
        if (file == files.end()) {
            return {};
        }
        all.push_back(file->second);
    }
    return all;
}

}  // namespace

fs::path memory_of_node(const fs::path& memories, NodeNumber node) {
    return memories / fmt::format("node-{:05}", node);
}

MemoryCopies::MemoryCopies(fs::path memory, const JobShape& shape, PeerPlacement placement)
    : memory_(std::move(memory)), shape_(shape), placement_(placement) {}

Result<void> MemoryCopies::store(std::int64_t step,
                                 std::uint32_t rank,
                                 std::span<const std::byte> bytes) {
    const fs::path folder = memory_ / checkpoint_name(step);
    const fs::path file = folder / checkpoint_file_name(rank);
    const fs::path temporary = folder / "arriving";
    std::error_code error;
    fs::create_directories(folder, error);
    FILE* out = std::fopen(temporary.c_str(), "wb");
    bool good = out != nullptr;
    good = good && std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
    good = out != nullptr && std::fclose(out) == 0 && good;
    if (good) {
        fs::rename(temporary, file, error);
    }
    return good && !error ? Result<void>{}
                          : fail(file.string(), "can't be kept in memory", "more memory");
}

Result<void> MemoryCopies::keep(Trainer& trainer, Transport* transport) {
    const std::uint32_t own = transport == nullptr ? 0 : transport->rank();
    const std::int64_t step = trainer.steps_done();
    Capture capture;
    const RankOfRun rank{.rank = own, .num_ranks = shape_.slots};
    Result<void> done = save_checkpoint(
        capture, memory_, trainer.state(), rank, held_parameters(trainer.executor()));
    done = done ? store(step, own, capture.bytes) : done;
    // The last copy stays until all ranks have the new one.
    std::error_code ignored;
    for (const StoredCheckpoint& old : checkpoints_in(memory_)) {
        if (old.step < step - 1 || old.step > step) {
            fs::remove_all(old.folder, ignored);
        }
    }
    std::vector<std::uint32_t> to;
    std::vector<std::uint32_t> from;
    for (std::uint32_t slot = 0; placement_.copies > 1 && slot < shape_.slots; ++slot) {
        for (const std::uint32_t holder : placement_.holders(shape_, slot)) {
            if (holder != slot && slot == own) {
                to.push_back(holder);
            } else if (holder != slot && holder == own) {
                from.push_back(slot);
            }
        }
    }
    if (!done || transport == nullptr || (to.empty() && from.empty())) {
        return done;
    }
    // Sizes first, because ranks of different stages have different amounts.
    std::uint64_t size = capture.bytes.size();
    std::vector<std::uint64_t> sizes(from.size());
    std::vector<std::vector<std::byte>> received(from.size());
    for (const bool content : {false, true}) {
        std::vector<Message> messages;
        const std::uint64_t tag = message_tag(kCopies, content ? 1 : 0);
        for (const std::uint32_t peer : to) {
            messages.push_back({true,
                                peer,
                                tag,
                                content ? std::span<std::byte>{capture.bytes}
                                        : std::as_writable_bytes(std::span{&size, 1})});
        }
        for (std::size_t i = 0; i < from.size(); ++i) {
            received[i].resize(content ? sizes[i] : 0);
            messages.push_back({false,
                                from[i],
                                tag,
                                content ? std::span<std::byte>{received[i]}
                                        : std::as_writable_bytes(std::span{&sizes[i], 1})});
        }
        if (Result<void> told = transport->exchange(messages); !told) {
            return told;
        }
    }
    for (std::size_t i = 0; done && i < from.size(); ++i) {
        done = store(step, from[i], received[i]);
    }
    return done;
}

std::int64_t newest_in_memory(const fs::path& memories, const JobShape& shape, bool replicas) {
    const auto files = files_in(memories);
    for (auto step = files.rbegin(); step != files.rend(); ++step) {
        if (!all_of(step->second, shape, replicas).empty()) {
            return step->first;
        }
    }
    return -1;
}

Result<void> gather_from_memory(const fs::path& memories,
                                const JobShape& shape,
                                bool replicas,
                                std::int64_t step,
                                const fs::path& folder) {
    auto files = files_in(memories);
    const std::vector<fs::path> all = all_of(files[step], shape, replicas);
    if (all.empty()) {
        return fail(memories.string(), fmt::format("lacks the state after step {}", step));
    }
    std::error_code error;
    fs::remove_all(folder, error);
    fs::create_directories(folder, error);
    for (std::uint32_t rank = 0; rank < all.size() && !error; ++rank) {
        fs::copy_file(all[rank], folder / checkpoint_file_name(rank), error);
    }
    return error ? fail(folder.string(), error.message()) : verify_checkpoint(folder);
}

}  // namespace orrery
