// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/replay/chakra_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "engine/base/input_file.h"
#include "scenarios/format/document/json_document.h"
#include "scenarios/studies/replay/chakra_schema.h"

namespace orrery {
namespace fs = std::filesystem;
namespace {

// Reader of Protobuf's wire format, which trusts nothing: it checks every length.
class Wire {
public:
    explicit Wire(std::string_view bytes) : bytes_(bytes) {}

    bool done() const { return at_ >= bytes_.size() || bad_; }
    bool bad() const { return bad_; }
    std::size_t at() const { return at_; }

    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (at_ >= bytes_.size()) {
                bad_ = true;
                return 0;
            }
            const auto byte = static_cast<unsigned char>(bytes_[at_++]);
            value |= std::uint64_t{byte & 0x7FU} << shift;
            if (byte < 0x80) {
                return value;
            }
        }
        bad_ = true;
        return 0;
    }
    std::string_view bytes(std::uint64_t size) {
        if (size > bytes_.size() - at_) {
            bad_ = true;
            return {};
        }
        at_ += static_cast<std::size_t>(size);
        return bytes_.substr(at_ - static_cast<std::size_t>(size), static_cast<std::size_t>(size));
    }
    std::string_view message() { return bytes(varint()); }

    struct Field {
        std::uint32_t number = 0;
        std::uint64_t value = 0;   // for varints
        std::string_view content;  // for fields with a length
        bool has_length = false;
    };
    Field field() {
        const std::uint64_t tag = varint();
        Field field{.number = static_cast<std::uint32_t>(tag >> 3U)};
        switch (tag & 7U) {
            case 0:
                field.value = varint();
                break;
            case 1:
                bytes(8);
                break;
            case 2:
                field.content = message();
                field.has_length = true;
                break;
            case 5:
                bytes(4);
                break;
            default:
                bad_ = true;
        }
        bad_ = bad_ || field.number == 0;
        return field;
    }

private:
    std::string_view bytes_;
    std::size_t at_ = 0;
    bool bad_ = false;
};

struct Attribute {
    std::uint64_t number = 0;
    std::string text;
};

struct ChakraNode {
    std::uint64_t id = 0;
    std::string name;
    std::uint64_t type = 0;
    std::uint64_t duration_us = 0;
    std::vector<std::uint64_t> after;
    std::map<std::string, Attribute, std::less<>> attributes;
};

bool read_attribute(std::string_view bytes, ChakraNode& node) {
    Wire wire{bytes};
    std::string name;
    Attribute value;
    while (!wire.done()) {
        const Wire::Field field = wire.field();
        switch (field.number) {
            case chakra::kAttributeName:
                name = field.content;
                break;
            case chakra::kInt32:
            case chakra::kInt64:
            case chakra::kUint32:
            case chakra::kUint64:
            case chakra::kBool:
                value.number = field.value;
                break;
            case chakra::kString:
                value.text = field.content;
                break;
            default:
                break;
        }
    }
    node.attributes[name] = std::move(value);
    return !wire.bad();
}

// A list of numbers is either packed or a sequence of fields.
bool read_ids(const Wire::Field& field, std::vector<std::uint64_t>& ids) {
    if (!field.has_length) {
        ids.push_back(field.value);
        return true;
    }
    Wire packed{field.content};
    while (!packed.done()) {
        ids.push_back(packed.varint());
    }
    return !packed.bad();
}

std::optional<ChakraNode> read_node(std::string_view bytes) {
    Wire wire{bytes};
    ChakraNode node;
    bool good = true;
    while (!wire.done()) {
        const Wire::Field field = wire.field();
        switch (field.number) {
            case chakra::kId:
                node.id = field.value;
                break;
            case chakra::kName:
                node.name = field.content;
                break;
            case chakra::kType:
                node.type = field.value;
                break;
            case chakra::kCtrlDeps:
            case chakra::kDataDeps:
                good = good && read_ids(field, node.after);
                break;
            case chakra::kDurationMicros:
                node.duration_us = field.value;
                break;
            case chakra::kAttribute:
                good = good && read_attribute(field.content, node);
                break;
            default:
                break;
        }
    }
    return good && !wire.bad() ? std::optional{std::move(node)} : std::nullopt;
}

class NodeTranslator {
public:
    NodeTranslator(const ChakraNode& node, std::string where, Errors& errors)
        : node_(node), where_(std::move(where)), errors_(errors) {}

    ForeignOp op() {
        ForeignOp op{.id = node_.id, .name = node_.name, .where = where_};
        op.after = node_.after;
        std::ranges::sort(op.after);
        op.after.erase(std::unique(op.after.begin(), op.after.end()), op.after.end());
        if (const Attribute* stream = find("orrery_stream")) {
            op.stream = stream->text;
        }
        switch (node_.type) {
            case chakra::kCollective:
                collective(op);
                break;
            case chakra::kSend:
            case chakra::kReceive:
                message(op);
                break;
            case chakra::kCompute:
            case chakra::kMetadataNode:
            case chakra::kMemoryLoad:
            case chakra::kMemoryStore:
                op.duration = duration();
                break;
            default:
                complain(fmt::format("type: {} is not a kind of node", node_.type));
        }
        return op;
    }

private:
    const Attribute* find(std::string_view name) const {
        const auto found = node_.attributes.find(name);
        return found == node_.attributes.end() ? nullptr : &found->second;
    }
    void complain(std::string what) { errors_.push_back({where_, std::move(what), ""}); }

    std::uint64_t need(std::string_view name) {
        const Attribute* attribute = find(name);
        if (attribute == nullptr) {
            complain(fmt::format("has no attribute {}", name));
        }
        return attribute == nullptr ? 0 : attribute->number;
    }

    Bytes size() {
        constexpr std::uint64_t kMost = std::uint64_t{1} << 50U;
        const std::uint64_t bytes = need("comm_size");
        if (bytes > kMost) {
            complain(fmt::format("comm_size: {} bytes are too many", bytes));
        }
        return Bytes{static_cast<std::int64_t>(std::min(bytes, kMost))};
    }

    Time duration() {
        constexpr std::uint64_t kDayPs = 86'400ULL * 1'000'000'000'000ULL;
        const Attribute* exact = find("orrery_duration_ps");
        const bool good = node_.duration_us <= kDayPs / 1'000'000;
        const std::uint64_t ps = exact != nullptr ? exact->number
                                 : good           ? node_.duration_us * 1'000'000
                                                  : kDayPs + 1;
        if (ps > kDayPs) {
            complain("duration_micros: longer than a day");
            return Time{};
        }
        return Time::picoseconds(static_cast<std::int64_t>(ps));
    }

    void collective(ForeignOp& op) {
        op.kind = ForeignOp::Kind::collective;
        op.bytes = size();
        const std::uint64_t type = need("comm_type");
        const auto* found = std::ranges::find(
            chakra::kCollectives, type, [](const auto& pair) { return pair.first; });
        if (found == chakra::kCollectives.end()) {
            complain(fmt::format("comm_type: the collective {} can't be replayed", type));
        } else {
            op.collective = found->second;
        }
        if (const Attribute* group = find("pg_name")) {
            op.group = group->text;
        }
    }

    void message(ForeignOp& op) {
        const bool sends = node_.type == chakra::kSend;
        op.kind = sends ? ForeignOp::Kind::send : ForeignOp::Kind::receive;
        op.bytes = size();
        op.peer = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(need(sends ? "comm_dst" : "comm_src"), UINT32_MAX));
        if (const Attribute* tag = find("comm_tag")) {
            op.tag = static_cast<std::int64_t>(tag->number);
        }
    }

    const ChakraNode& node_;
    std::string where_;
    Errors& errors_;
};

// The file "name.0.et" in a folder, or the path itself if it is one; empty if there is none.
fs::path first_trace(const fs::path& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        return path.string().ends_with(".0.et") && fs::is_regular_file(path, error) ? path
                                                                                    : fs::path{};
    }
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator{path, error}) {
        if (entry.path().string().ends_with(".0.et")) {
            found.push_back(entry.path());
        }
    }
    std::ranges::sort(found);
    return found.empty() ? fs::path{} : found.front();
}

void read_groups(const fs::path& path, ForeignStep& step, Errors& errors) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) {
        return;
    }
    const auto root = read_json_file(path);
    if (!root) {
        errors.insert(errors.end(), root.error().begin(), root.error().end());
        return;
    }
    for (std::size_t i = 0; i < root->keys.size(); ++i) {
        std::vector<RankId>& members = step.groups[root->keys[i].text];
        for (const DocumentNode& item : root->items[i].items) {
            std::uint32_t rank = 0;
            const char* end = item.text.data() + item.text.size();
            const auto [stop, error] = std::from_chars(item.text.data(), end, rank);
            if (error != std::errc{} || stop != end || rank >= step.ranks.size()) {
                errors.push_back({item.where(),
                                  fmt::format("{} is no rank of the traces", item.describe()),
                                  ""});
            } else {
                members.push_back(RankId{rank});
            }
        }
        std::ranges::sort(members);
        if (members.empty()) {
            errors.push_back({root->items[i].where(), "a group must be a list of ranks", ""});
        }
    }
}

}  // namespace

ResultOrErrors<std::vector<ForeignOp>> parse_chakra(std::string_view bytes,
                                                    const std::string& source) {
    Errors errors;
    Wire wire{bytes};
    wire.message();  // GlobalMetadata
    std::vector<ForeignOp> ops;
    constexpr std::size_t kErrorsMax = 50;
    while (!wire.done() && errors.size() < kErrorsMax) {
        const std::size_t begin = wire.at();
        const auto node = read_node(wire.message());
        if (wire.bad()) {
            break;
        }
        if (!node) {
            errors.push_back(
                {fmt::format("{}, byte {}", source, begin), "is not a node of a Chakra trace", ""});
            break;
        }
        const std::string where = fmt::format("{}, node {}", source, node->id);
        ops.push_back(NodeTranslator{*node, where, errors}.op());
    }
    if (wire.bad()) {
        errors.push_back({fmt::format("{}, byte {}", source, wire.at()),
                          "the file ends in the middle of a node, or is no Chakra trace",
                          ""});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return ops;
}

ResultOrErrors<ForeignStep> read_chakra(const fs::path& path) {
    const fs::path first = first_trace(path);
    if (first.empty()) {
        return unexpected<Errors>(
            {{path.string(), "has no trace NAME.0.et", "give the folder of the traces"}});
    }
    const std::string name = first.string().substr(0, first.string().size() - 4);  // "job."
    ForeignStep step;
    Errors errors;
    std::error_code ignored;
    for (std::size_t rank = 0;; ++rank) {
        const fs::path file = name + fmt::format("{}.et", rank);
        if (!fs::is_regular_file(file, ignored)) {
            break;
        }
        const auto bytes = read_input(file);
        auto ops =
            bytes ? parse_chakra(*bytes, file.string()) : unexpected<Errors>({bytes.error()});
        if (!ops) {
            errors.insert(errors.end(), ops.error().begin(), ops.error().end());
        }
        step.ranks.push_back(ops ? std::move(*ops) : std::vector<ForeignOp>{});
    }
    read_groups(first.parent_path() / chakra::kGroupsFile, step, errors);
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return step;
}

}  // namespace orrery
