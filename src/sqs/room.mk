# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libsqs.a
libsqs_a_CFLAGS = $(AM_CFLAGS) $(NETTLE_CFLAGS) $(JANSSON_CFLAGS)
libsqs_a_SOURCES = %D%/action.c %D%/action.h %D%/answer.c %D%/answer_attributes.c \
	%D%/answer_list.c %D%/answer_move_task.c %D%/answer_permission.c \
	%D%/answer_queue.c %D%/answer_receipt.c %D%/answer_receive.c \
	%D%/answer_send.c %D%/answer_tags.c %D%/attribute.c %D%/attribute.h %D%/call.c %D%/call.h \
	%D%/cooldown.c %D%/cooldown.h %D%/decode_json.c %D%/decode_query.c %D%/decode.h \
	%D%/fault.c %D%/fault.h %D%/form.c %D%/form.h %D%/message.c %D%/message.h \
	%D%/message_attribute.c %D%/name.c %D%/name.h %D%/out.c %D%/out.h %D%/policy.c %D%/policy.h %D%/protocol.c \
	%D%/protocol.h %D%/proxies.c %D%/proxies.h %D%/redrive.c %D%/redrive.h %D%/request.h \
	%D%/show.c %D%/show.h %D%/signature.c %D%/signature.h %D%/sqs.c %D%/sqs.h %D%/url.c
EXTRA_DIST += api/deviations.md api/contract scripts/check-contract api/actions.def api/attributes.def api/sqs_faults.def
