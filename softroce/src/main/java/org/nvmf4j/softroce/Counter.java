package org.nvmf4j.softroce;

/** What a device counts, under the names that metrics see. */
enum Counter {
    PACKETS_SENT("sent_packets"),
    BYTES_SENT("sent_bytes"),
    MESSAGES_SENT("sent_socket_messages"),
    SEND_CALLS("send_calls"),
    SEND_BUFFER_FULL("send_buffer_full"),
    /** The kernel would not send them, for instance as too long for the way. */
    SEND_REFUSED("send_refused"),
    /** Waited for room in the socket when a queue pair was closed whose memory they may have named. */
    SEND_DISCARDED("send_discarded"),
    PACKETS_RECEIVED("received_packets"),
    BYTES_RECEIVED("received_bytes"),
    BUFFERS_RECEIVED("received_socket_buffers"),
    BATCHES_RECEIVED("received_batches"),
    /** Came by another vector's socket, because the kernel had joined datagrams of several queue pairs. */
    HANDED_OVER("handed_over"),
    MADS_SENT("sent_mads"),
    MADS_RECEIVED("received_mads"),
    DROPPED_LENGTH("dropped_bad_length"),
    DROPPED_OPCODE("dropped_unknown_opcode"),
    DROPPED_VERSION("dropped_bad_version"),
    DROPPED_QUEUE_PAIR("dropped_unknown_queue_pair"),
    DROPPED_SOURCE("dropped_wrong_source"),
    DROPPED_ICRC("dropped_bad_icrc"),
    DROPPED_MAD("dropped_bad_mad"),
    DROPPED_CM_MESSAGE("dropped_cm_message"),
    DROPPED_HAND_OVER("dropped_hand_over"),
    /** The kernel had no room for them in the socket's receive buffer; known from time to time. */
    DROPPED_RECEIVE_BUFFER("dropped_receive_buffer_full"),
    DROPPED_BAD_PACKET("dropped_out_of_protocol"),
    RETRANSMITTED("retransmitted_packets"),
    TIMEOUTS("timeouts"),
    GO_BACKS("go_backs"),
    ACKS_SENT("sent_acks"),
    ACKS_RECEIVED("received_acks"),
    SEQUENCE_NAKS_SENT("sent_sequence_naks"),
    SEQUENCE_NAKS_RECEIVED("received_sequence_naks"),
    RNR_NAKS_SENT("sent_rnr_naks"),
    RNR_NAKS_RECEIVED("received_rnr_naks"),
    FATAL_NAKS_SENT("sent_fatal_naks"),
    FATAL_NAKS_RECEIVED("received_fatal_naks"),
    DUPLICATES("received_duplicates"),
    OUT_OF_SEQUENCE("received_out_of_sequence"),
    FAULTS_LOST("faults_lost"),
    FAULTS_DUPLICATED("faults_duplicated"),
    FAULTS_REORDERED("faults_reordered"),
    FAULTS_CORRUPTED("faults_corrupted"),
    CONNECTIONS_ESTABLISHED("connections_established"),
    CONNECTIONS_REJECTED("connections_rejected"),
    CONNECTIONS_ENDED("connections_ended");

    private final String label;

    Counter(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }
}
