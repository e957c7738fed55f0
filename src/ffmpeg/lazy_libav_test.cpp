extern "C" {
#include <libavutil/channel_layout.h>
#include <libavutil/dict.h>
}

#include <gtest/gtest.h>

#include <thread>
#include <vector>

// The very first calls, from several threads at once, with arguments in several registers.
TEST(LazyLibav, LoadsAtTheFirstCallAndKeepsItsArguments) {
    std::vector<std::thread> threads;
    std::vector<int> found(8);
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&found, i] {
            AVDictionary* dictionary = nullptr;
            av_dict_set(&dictionary, "key", std::to_string(i).c_str(), 0);
            const AVDictionaryEntry* entry = av_dict_get(dictionary, "key", nullptr, 0);
            found[i] = entry ? std::atoi(entry->value) : -1;
            av_dict_free(&dictionary);
        });
    for (auto& thread : threads) thread.join();
    for (int i = 0; i < 8; ++i) EXPECT_EQ(found[i], i);
}

TEST(LazyLibav, HandlesStructuresByPointer) {
    AVChannelLayout layout{};
    av_channel_layout_default(&layout, 6);
    EXPECT_EQ(layout.nb_channels, 6);
    av_channel_layout_uninit(&layout);
}
