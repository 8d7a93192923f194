find_package(benchmark REQUIRED)
add_executable(bench_print ${CMAKE_CURRENT_LIST_DIR}/print.cc)
target_link_libraries(bench_print PRIVATE hlokit_print hlokit_read benchmark::benchmark)
