add_executable(static-io-transpose ${CMAKE_SOURCE_DIR}/tools/static_io_transpose.cc)
target_link_libraries(static-io-transpose PRIVATE hlokit_neuron)
