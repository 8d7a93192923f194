add_executable(corpus_bench ${CMAKE_CURRENT_LIST_DIR}/corpus.cc)
target_link_libraries(corpus_bench PRIVATE hlokit_read hlokit_print hlokit_layout hlokit_proto)
