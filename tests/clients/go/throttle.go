// SPDX-License-Identifier: Apache-2.0

// Package clients asks a mete daemon by go-redis, as an application would.
package clients

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Decision is the reply of CL.THROTTLE.
type Decision struct {
	Limited          bool
	Limit, Remaining int64
	RetryAfter       time.Duration // -1 s when allowed
	ResetAfter       time.Duration
}

// Throttle takes quantity units from a key that refills count units per period.
func Throttle(ctx context.Context, client redis.Cmdable, key string, burst, count int, period time.Duration,
	quantity int) (Decision, error) {
	cmd := redis.NewIntSliceCmd(ctx, "CL.THROTTLE", key, burst, count, int(period/time.Second), quantity)
	if err := process(ctx, client, cmd); err != nil {
		return Decision{}, err
	}
	reply := cmd.Val()
	if len(reply) != 5 {
		return Decision{}, fmt.Errorf("CL.THROTTLE answered %d numbers: %v", len(reply), reply)
	}
	return Decision{
		Limited:    reply[0] == 1,
		Limit:      reply[1],
		Remaining:  reply[2],
		RetryAfter: time.Duration(reply[3]) * time.Second,
		ResetAfter: time.Duration(reply[4]) * time.Second,
	}, nil
}

func process(ctx context.Context, client redis.Cmdable, cmd redis.Cmder) error {
	processor, ok := client.(interface {
		Process(context.Context, redis.Cmder) error
	})
	if !ok {
		return fmt.Errorf("%T cannot process commands", client)
	}
	return processor.Process(ctx, cmd)
}

// Field is a field of the decision that METE.TAKE and its like answer: a map in
// RESP3, names and values by turns in RESP2.
func Field(reply interface{}, name string) (interface{}, error) {
	switch fields := reply.(type) {
	case map[interface{}]interface{}:
		if value, ok := fields[name]; ok {
			return value, nil
		}
	case []interface{}:
		for i := 0; i+1 < len(fields); i += 2 {
			if fields[i] == name {
				return fields[i+1], nil
			}
		}
	}
	return nil, fmt.Errorf("no field %q in %T %v", name, reply, reply)
}

// IsAllowed is the field "allowed": a boolean in RESP3, a number in RESP2.
func IsAllowed(reply interface{}) (bool, error) {
	value, err := Field(reply, "allowed")
	return value == true || value == int64(1), err
}
